/** Resources that the call of an endpoint names, made for that call by its rightful caller. */

import { REPLICATE_PATH } from "../../../src/domain/replicate/prediction.ts";
import { replicatePage, replicateVersion } from "../../../src/protocol/replicate.ts";
import { setAvatar } from "../../../src/services/accounts/avatars.ts";
import { callerOf, GIF, run, services } from "./accounts.ts";
import { newAlert } from "./alerts.ts";
import { makeBackup, withKey } from "./backups.ts";
import { removeBudgets } from "./budgets.ts";
import { newModel, publish } from "./catalogue.ts";
import { type Client, ORIGIN } from "./client.ts";
import { newDeployment } from "./deployments.ts";
import type { EndpointAccess, PathParameters } from "./endpoint-access.ts";
import { newConversation, newResponse, newUploads, newWebhooks } from "./endpoint-places.ts";
import { addSecret } from "./endpoints.ts";
import { insertExample, newPinnable } from "./examples.ts";
import { uploaded } from "./files.ts";
import { registered } from "./fleet.ts";
import { inAccount } from "./objects.ts";
import { newOrganization, setRole, setShare } from "./organizations.ts";
import { setVariable } from "./variables.ts";
import { newOperatorUser, newUser, operator, unique, type World } from "./world.ts";

const VARIABLE = "HF_TOKEN";

/**
 * Creates what an endpoint names, so that a call by the owner, or by an operator, succeeds.
 * @param key method and address, as in the tables of endpoint-access.ts
 */
export async function placeFor(key: string, world: World): Promise<PathParameters> {
  if (/^POST .*(?:predictions|responses)$/.test(key)) await endAll(world);
  const named = (parameter: string) => key.includes(`:${parameter}`);
  const owner = { username: world.username, model_owner: world.username, version_number: "1" };
  const place: PathParameters = { ...owner, model_name: "story", variable_name: VARIABLE };
  if (named("hash")) Object.assign(place, await avatarOf(world));
  if (key.includes("organizations")) Object.assign(place, await organizationFor(key, world));
  if (key.includes(REPLICATE_PATH)) return { ...place, ...(await replicatePlace(key, world)) };
  if (key.includes("/operator/")) Object.assign(place, await operatorsPlace(key, world));
  else if (/^(?:DELETE|GET) \/v1\/models\/:model_owner\/:model_name|:example_id$/.test(key))
    Object.assign(place, await idleModel(world));
  if (named("deployment_name")) Object.assign(place, await deploymentOf(world));
  if (named("budget_id")) place.budget_id = await budgetOf(key, world.client, place);
  if (/^POST .*budgets$/.test(key)) await removeBudgets(...budgetsOf(key, world.client, place));
  if (named("account")) Object.assign(place, await collaboratorOf(key, place));
  if (key.startsWith("POST") && key.endsWith("/examples")) Object.assign(place, await ended(world));
  if (key.includes("webhook")) Object.assign(place, await webhooksFor(key, world));
  else if (named("prediction_id")) place.prediction_id = await predictionFor(key, world);
  if (named("upload_id") || named("source_id")) {
    const { pending, whole } = await newUploads(world.client);
    Object.assign(place, key.endsWith("/complete") ? whole : pending);
  }
  if (named("conversation_id")) Object.assign(place, await newConversation(world.client));
  if (named("response_id") || /\/vendor[ab]\/models\/:model$/.test(key)) {
    Object.assign(place, await newResponse(world.client, world.model));
    if (key.startsWith("DELETE"))
      await world.client.ok("POST", `/v1/vendora/responses/${place.response_id}/cancel`);
  }
  return place;
}

async function deploymentOf({ client, model, username }: World): Promise<PathParameters> {
  const { name } = await newDeployment(client, { model });
  return { deployment_owner: username, deployment_name: name };
}

/** Creates the only budget of the caller, or for an operator of the account that is named. */
async function budgetOf(key: string, client: Client, place: PathParameters) {
  const request = { limit: "1000000", window: "day" };
  const [by, path] = budgetsOf(key, client, place);
  await removeBudgets(by, path);
  return (await by.ok<{ id: string }>("POST", path, request)).id;
}

const budgetsOf = (key: string, client: Client, { username }: PathParameters): [Client, string] =>
  key.includes("/operator/")
    ? [operator, `/v1/operator/users/${username}/budgets`]
    : [client, "/v1/budgets"];

/** Creates an organization of the user with another member, an invitation and a token. */
async function organizationFor(key: string, world: World): Promise<PathParameters> {
  // A user can create few organizations.
  await run("UPDATE users SET created_by = NULL WHERE created_by = ?", world.user_id);
  const organization = await newOrganization();
  if (!key.includes("user/organizations")) await setRole(organization, world, "owner");
  const { client, username } = organization;
  const path = `/v1/organizations/${username}`;
  const newId = async (kind: string, body: object) =>
    (await client.ok<{ id: string }>("POST", `${path}/${kind}`, body)).id;
  const person = await organization.join("member");
  const invited = await client.ok<{ invitation: string }>("POST", `${path}/invitations`, {});
  return {
    organization: username,
    lead: world.username,
    username: person.username,
    invitation: invited.invitation,
    invitation_id: await newId("invitations", {}),
    ...(key.includes(":token_id") && {
      token_id: await newId("tokens", { name: "x", service_role: "member" }),
    }),
  };
}

/** Creates what the Replicate convention names: a file, a prediction, a version and a collection. */
async function replicatePlace(key: string, world: World): Promise<PathParameters> {
  const { client, username, user_id } = world;
  // An account has a limited number of files.
  await run("DELETE FROM uploads WHERE user_id = ?", user_id);
  const idle = await idleModel(world);
  const versions = `${REPLICATE_PATH}/models/${username}/${idle.model_name}/versions`;
  const [version] = replicatePage(replicateVersion).parse(await client.ok("GET", versions)).results;
  const slug = unique("slug");
  await operator.ok("PUT", `/v1/operator/categories/${slug}`, { name: slug });
  return {
    ...idle,
    slug,
    owner: username,
    name: idle.model_name ?? "",
    version: version?.id ?? "",
    id: (await uploaded(client)).id,
    ...(key.includes(":deployment_name") && (await deploymentOf(world))),
    ...(key.includes(":prediction_id") && { prediction_id: await predictionFor(key, world) }),
  };
}

/** Cancels all waiting predictions, so that the account is below its limit. */
async function endAll({ client, user_id }: World): Promise<void> {
  const waiting = "SELECT id FROM predictions WHERE status = 'pending'";
  for (const { id } of await inAccount(user_id, waiting)) await client.cancel(id);
}

/** Creates a model without runs, and with two examples. */
async function idleModel({ client, username }: World): Promise<PathParameters> {
  const { name, id } = await newModel(client);
  await publish(client, `${username}/${name}`);
  await setVariable(client, `${username}/${name}`, VARIABLE);
  await insertExample(id);
  return { model_name: name, example_id: await insertExample(id, 1) };
}

/** Creates an account, with which the model is shared if the call ends that. */
async function collaboratorOf(key: string, place: PathParameters): Promise<PathParameters> {
  const { username, user_id } = await newUser();
  if (key.startsWith("DELETE"))
    await setShare(`${place.model_owner}/${place.model_name}`, { user_id }, "run");
  return { account: username };
}

/** Creates a run that can become an example, of a model without examples. */
async function ended(world: World): Promise<PathParameters> {
  const { name, prediction_id = "" } = await newPinnable(world);
  return { model_name: name ?? "", prediction_id };
}

/** Creates a waiting prediction, and cancels it for calls that need an ended one. */
async function predictionFor(key: string, { client, waiting }: World): Promise<string> {
  const id = await waiting();
  if (/^DELETE|stream$/.test(key)) await client.cancel(id);
  return id;
}

async function webhooksFor(key: string, world: World): Promise<PathParameters> {
  await run("DELETE FROM webhook_endpoints WHERE user_id = ?", world.user_id);
  const { told_id = "", ...place } = await newWebhooks(world.client, world.model);
  // The last secret cannot be deleted.
  if (key.includes(":secret_id")) await addSecret(world.client, place.endpoint_id ?? "");
  return { ...place, prediction_id: told_id };
}

async function operatorsPlace(key: string, world: World): Promise<PathParameters> {
  const newId = async (path: string, body: object) =>
    (await operator.ok<{ id: string }>("POST", `/v1/operator/${path}`, body)).id;
  if (key.includes("usernames")) return { username: await givenUp() };
  if (key.includes("runner_tokens"))
    return { token_id: await newId("runner_tokens", { name: "x", hardware: ["cpu"] }) };
  if (key.includes(":token_id"))
    return { token_id: await newId(`users/${world.username}/tokens`, { name: "x" }) };
  if (key.includes(":runner_id")) {
    const { runner } = await registered();
    // A runner can be removed only after it stopped.
    if (key.startsWith("DELETE")) await runner.tell({ state: "stopped" });
    return { runner_id: runner.id, action: "drain" };
  }
  if (key.includes(":identifier")) {
    const identifier = unique("hw");
    await operator.ok("PUT", `/v1/operator/hardware/${identifier}`, { name: "x" });
    return { identifier };
  }
  if (key.includes(":alert_id")) return { alert_id: await newAlert() };
  if (key.includes(":slug")) {
    const slug = unique("slug");
    await operator.ok("PUT", `/v1/operator/categories/${slug}`, { name: slug });
    return { slug };
  }
  if (key === "DELETE /v1/operator/users/:username/operator") {
    await newOperatorUser();
    return { username: (await newOperatorUser()).username };
  }
  if (/suspension|\/operator$/.test(key)) {
    const { username } = await newUser();
    if (key.startsWith("DELETE"))
      await operator.ok("PUT", `/v1/operator/users/${username}/suspension`);
    return { username };
  }
  if (key.includes("/backups")) withKey();
  if (key.includes(":backup_id")) return { backup_id: await makeBackup(60_000), part_number: "0" };
  return {};
}

async function avatarOf(world: World): Promise<PathParameters> {
  await setAvatar(services, callerOf(world), GIF, ORIGIN);
  const { avatar_url } = await world.client.ok<{ avatar_url: string }>("GET", "/v1/user");
  const [user_id = "", hash = ""] = new URL(avatar_url).pathname.split("/").slice(-2);
  return { user_id, hash };
}

async function givenUp(): Promise<string> {
  const { client, username } = await newUser();
  await client.ok("PATCH", "/v1/user", { username: unique("renamed") });
  return username;
}

/**
 * Returns the usual status of a call by the owner. In the tables, what an organization changes or deletes does not exist;
 * `placeFor` creates it.
 */
export const usualStatus = (key: string, { hidden }: EndpointAccess) =>
  /^(?:DELETE|PATCH) .*organizations|^POST .*user\/organizations/.test(key) ? 200 : hidden[2];
