/** Resources that paths of the dashboard name, made for the user who owns them. */
import { env } from "cloudflare:workers";
import type { Visibility } from "../../../src/protocol/model.ts";
import { beginDeviceLogin } from "../../../src/services/accounts/device-login.ts";
import { getServices } from "../../../src/services/services.ts";
import { run } from "./accounts.ts";
import { newBudget, removeBudgets } from "./budgets.ts";
import { newModel, publish, referenceOf } from "./catalogue.ts";
import { ORIGIN } from "./client.ts";
import {
  type DashboardUser,
  newDashboardUser,
  newOperator,
  signInAgain,
} from "./dashboard-users.ts";
import { newDeployment } from "./deployments.ts";
import { addSecret, newEndpoint } from "./endpoints.ts";
import { eventually } from "./eventually.ts";
import { beginUpload, sendParts } from "./files.ts";
import { Images } from "./images.ts";
import { rowOf } from "./objects.ts";
import { setRole, setShare } from "./organizations.ts";
import { addressOf, freshPath } from "./receiver.ts";
import { FakeRunner } from "./runner.ts";
import { newRunnerToken, newUser, operator, unique } from "./world.ts";

/** Values of path parameters and form fields. */
export type RouteParameters = Record<string, string>;

/** Returns the ID of the row that was inserted last. */
export const newestId = async (table: string): Promise<RouteParameters> => {
  const statement = env.DB.prepare(`SELECT id FROM ${table} ORDER BY rowid DESC LIMIT 1`);
  const id = await statement.first<string>("id");
  if (id === null) throw new Error(`nothing is in ${table}`);
  return { id };
};

export async function newPasskey({ user_id }: DashboardUser): Promise<RouteParameters> {
  const id = crypto.randomUUID();
  await env.DB.prepare(
    `INSERT INTO passkeys (id, user_id, public_key, credential_id, counter, device_type, backed_up)
      VALUES (?1, ?2, '', ?1, 0, '', 0)`,
  )
    .bind(id, user_id)
    .run();
  return { id };
}

export const newSession = async (person: DashboardUser) => {
  await signInAgain(person);
  return newestId("sessions");
};

export const newToken = async ({ visitor }: DashboardUser) => {
  await visitor.send("/tokens", TOKEN);
  return newestId("tokens");
};

export const newInvitation = async ({ visitor }: DashboardUser) => {
  await visitor.send("/users/invitations", { note: "Grace", username: "" });
  return newestId("invitations");
};

/** Makes an organization of the person, with another member, an invitation and a token. */
export async function newOrganizationPlace({
  username: owner,
  visitor,
}: DashboardUser): Promise<RouteParameters> {
  const organization = unique("org");
  await operator.ok("POST", "/v1/operator/organizations", { username: organization, owner });
  const { username } = await newUser();
  const owners = `/v1/operator/organizations/${organization}/owners`;
  await operator.ok("PUT", `${owners}/${username}`);
  await visitor.send(`/organizations/${organization}/tokens`, TOKEN);
  const { id: token_id = "" } = await newestId("tokens");
  const { html } = await visitor.send(`/organizations/${organization}/invitations`, {
    role: "member",
    note: "",
  });
  const [, invitation = ""] = /\/join\/(ausi_\w+)/.exec(html) ?? [];
  return { organization, username, token_id, invitation };
}

export async function newOrganizationInvitation(person: DashboardUser): Promise<RouteParameters> {
  const { organization = "" } = await newOrganizationPlace(person);
  return { organization, ...(await newestId("organization_invitations")) };
}

export async function newOrganizationToken(person: DashboardUser): Promise<RouteParameters> {
  const { organization = "", token_id: id = "" } = await newOrganizationPlace(person);
  return { organization, id };
}

/** Makes another member, an invitation and a token in an organization. The last two have the same id. */
export async function newPlaceWithin({
  username: organization,
  user_id,
  client,
}: DashboardUser): Promise<RouteParameters> {
  const { username, user_id: id } = await newUser();
  await setRole({ user_id }, { user_id: id }, "developer");
  const of = `/v1/organizations/${organization}`;
  await client.ok("POST", `${of}/tokens`, { name: "CI", service_role: "member" });
  await client.ok("POST", `${of}/invitations`, { role: "member" });
  const token = await newestId("tokens");
  await run(
    "UPDATE organization_invitations SET id = ? WHERE id = ?",
    token.id,
    (await newestId("organization_invitations")).id,
  );
  return { organization, username, ...token };
}

/** Begins a login from a terminal. */
export async function newDeviceLogin(): Promise<RouteParameters> {
  const { user_code } = await beginDeviceLogin(getServices(env), "laptop", ORIGIN);
  return { user_code };
}

/** Makes an invitation to an organization of somebody else. */
export async function newJoining(): Promise<RouteParameters> {
  const { invitation = "" } = await newOrganizationPlace(await newDashboardUser());
  return { invitation };
}

export const newOperatorPlace = async (): Promise<RouteParameters> => ({
  username: (await newOperator()).username,
});

export async function newTokenOfUser(): Promise<RouteParameters> {
  const { username } = await newUser();
  return { username, ...(await newestId("tokens")) };
}

export async function newBudgetPlace({ client }: DashboardUser): Promise<RouteParameters> {
  await removeBudgets(client);
  const { id } = await newBudget(client, { limit: "5" });
  return { id };
}

export async function noBudget({ client }: DashboardUser): Promise<RouteParameters> {
  await removeBudgets(client);
  return {};
}

export async function newBudgetOfUser(): Promise<RouteParameters> {
  const { username } = await newUser();
  const path = `/v1/operator/users/${username}/budgets`;
  const { id } = await operator.ok<{ id: string }>("POST", path, { limit: "5", window: "day" });
  return { username, id };
}

export async function newFormerUsername(): Promise<RouteParameters> {
  const { client, username: former } = await newUser();
  const username = unique("renamed");
  await client.ok("PATCH", "/v1/user", { username });
  return { username, former };
}

export const newUserPlace = async (): Promise<RouteParameters> => ({
  username: (await newUser()).username,
});

export async function newSuspended(): Promise<RouteParameters> {
  const { username } = await newUser();
  await operator.ok("PUT", `/v1/operator/users/${username}/suspension`);
  return { username };
}

export const TOKEN = {
  name: "laptop",
  scopes: "read",
  expires: "7",
  models_for: "all",
  models: "",
};

/** Creates a private model with a version. */
export const newVersion = (person: DashboardUser) => versionOf(person, "private");

/** Creates a public model with a version. */
export const newShownVersion = (person: DashboardUser) => versionOf(person, "public");

async function versionOf(
  { client }: DashboardUser,
  visibility: Visibility,
): Promise<RouteParameters> {
  const model = await newModel(client, { visibility });
  await publish(client, referenceOf(model));
  const [owner = "", name = ""] = referenceOf(model).split("/");
  return { owner, name, number: "1" };
}

/** Creates a model that is shared with one account, and another account. */
export const newSharing = async (person: DashboardUser) => withShare(await newVersion(person));
export const newShownSharing = async (person: DashboardUser) =>
  withShare(await newShownVersion(person));

async function withShare(place: RouteParameters): Promise<RouteParameters> {
  const { username: account, user_id } = await newUser();
  await setShare(`${place.owner}/${place.name}`, { user_id }, "run");
  return { ...place, account, other: (await newUser()).username };
}

/** Creates a model with an image that was pushed as `latest` and that no version runs. */
export const newPushed = (person: DashboardUser) => withImage(person, newVersion(person));
export const newShownPushed = (person: DashboardUser) => withImage(person, newShownVersion(person));

async function withImage({ client }: DashboardUser, made: Promise<RouteParameters>) {
  const place = await made;
  await new Images(client, `${place.owner}/${place.name}`).push("latest", {});
  return place;
}

export const VARIABLE = { variable_name: "API_KEY", value: "secret" };

export const newVariable = async (person: DashboardUser) =>
  withVariable(person, await newVersion(person));

export const newShownVariable = async (person: DashboardUser) =>
  withVariable(person, await newShownVersion(person));

async function withVariable(
  person: DashboardUser,
  place: RouteParameters,
): Promise<RouteParameters> {
  await person.visitor.send(`/models/${place.owner}/${place.name}/variables`, VARIABLE);
  return { ...place, variable: VARIABLE.variable_name };
}

export const MODEL = { visibility: "private", description: "", overview: "" };

/** Creates a run of a private model, which waits. */
export async function newRun(person: DashboardUser): Promise<RouteParameters> {
  const { owner, name } = await newVersion(person);
  const webhook = { url: addressOf(freshPath()), events: ["completed"] };
  const body = { model: `${owner}/${name}`, input: {}, webhook };
  const { id } = (await person.client.create(body)).body;
  return { prediction_id: id };
}

/** Creates a run that has ended, with its final row and a delivered webhook. */
export async function newEndedRun(person: DashboardUser): Promise<RouteParameters> {
  const { prediction_id = "" } = await newRun(person);
  await person.client.cancel(prediction_id);
  return eventually(async () => {
    if ((await rowOf(prediction_id))?.status !== "canceled") throw new Error("its row is behind");
    const [event] = await webhooksOf({ prediction_id }, person);
    if (event?.deliveries[0]?.state !== "delivered") throw new Error("it is not delivered");
    return { prediction_id, event_id: event.id };
  });
}

/**
 * Creates the only endpoint of the account, which may have four. It has two secrets, since one of them may be
 * deleted.
 */
/** Creates a deployment of the person's account, with two releases, and the model that it runs. */
export async function newOwnDeployment(person: DashboardUser): Promise<RouteParameters> {
  const { client } = person;
  const place = await newVersion(person);
  const model = `${place.owner}/${place.name}`;
  const { owner, name } = await newDeployment(client, { model });
  await client.ok("PATCH", `/v1/deployments/${owner}/${name}`, { max_instances: 2 });
  return { name, model };
}

export async function newWebhookEndpoint(person: DashboardUser): Promise<RouteParameters> {
  const { client, user_id } = person;
  await env.DB.prepare("DELETE FROM webhook_endpoints WHERE user_id = ?").bind(user_id).run();
  const { id } = await newEndpoint(client);
  const { id: secret } = await addSecret(client, id);
  return { id, secret };
}

/** Creates a link to an ended run. Its token is shown once. */
export async function newShare(person: DashboardUser): Promise<RouteParameters> {
  const { prediction_id = "" } = await newEndedRun(person);
  await person.visitor.look(`/predictions/${prediction_id}`);
  const { html } = await person.visitor.send(`/predictions/${prediction_id}/share`, { days: "1" });
  const [, token = ""] = /\/shared\/(auss_\w+)/.exec(html) ?? [];
  return { ...(await newestId("shares")), token };
}

interface Told {
  id: string;
  deliveries: { state: string }[];
}

export const webhooksOf = async ({ prediction_id }: RouteParameters, { client }: DashboardUser) =>
  (await client.ok<{ items: Told[] }>("GET", `/v1/predictions/${prediction_id}/webhooks`)).items;

export const newUpload = async ({ client }: DashboardUser): Promise<RouteParameters> => {
  const { id } = await beginUpload(client, 2);
  return { id };
};

export async function newWholeUpload({ client }: DashboardUser): Promise<RouteParameters> {
  const part = new TextEncoder().encode("{}");
  const upload = await beginUpload(client, part.length);
  const [etag = ""] = await sendParts(upload, part);
  return { id: upload.id, etag };
}

/** The first bytes of a PNG, by which it is recognized. */
export const PNG = new File(
  [Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)],
  "ada.png",
);

export const newAvatar = async ({ visitor }: DashboardUser): Promise<RouteParameters> => {
  await visitor.send("/account/avatar", { avatar: PNG });
  return {};
};

export async function newHardware(): Promise<RouteParameters> {
  const identifier = unique("hw");
  await operator.ok("PUT", `/v1/operator/hardware/${identifier}`, { name: "Box" });
  return { identifier };
}

export const newRunnerPlace = async (): Promise<RouteParameters> => ({
  id: (await newRunner()).id,
});

async function newRunner(): Promise<FakeRunner> {
  const { identifier = "" } = await newHardware();
  return FakeRunner.begin(await newRunnerToken(identifier), identifier, unique("box"));
}

export async function newDrainedRunner(): Promise<RouteParameters> {
  const { id } = await newRunner();
  await operator.ok("POST", `/v1/operator/runners/${id}/drain`);
  return { id };
}

export async function newStoppedRunner(): Promise<RouteParameters> {
  const runner = await newRunner();
  await runner.tell({ state: "stopped" });
  return { id: runner.id };
}
