/**
 * Every endpoint, while each of its platform calls fails in turn: the answer is a success or a 503 with
 * retry-after, never a 500, and the next answer is the usual one. Endpoints of runners are in
 * runner-endpoints.nightly.test.ts, and those of the registry in registry.nightly.test.ts.
 */
import { afterAll, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { REPLICATE_PATH } from "../../../src/domain/replicate/prediction.ts";
import { replicatePage, replicateVersion } from "../../../src/protocol/replicate.ts";
import { setAvatar } from "../../../src/services/accounts/avatars.ts";
import { callerOf, GIF, run, services } from "../support/accounts.ts";
import { askedAgain } from "../support/asked-again.ts";
import { makeBackup, withKey, withoutKey } from "../support/backups.ts";
import { newModel, publish } from "../support/catalogue.ts";
import { ORIGIN } from "../support/client.ts";
import {
  callEndpoint,
  ENDPOINT_ACCESS,
  type EndpointAccess,
  type EndpointCall,
  type PathParameters,
} from "../support/endpoint-access.ts";
import {
  newConversation,
  newResponse,
  newUploads,
  newWebhooks,
} from "../support/endpoint-places.ts";
import { addSecret } from "../support/endpoints.ts";
import { insertExample, newPinnable } from "../support/examples.ts";
import { type Failure, failing } from "../support/failing.ts";
import { uploaded } from "../support/files.ts";
import { registered } from "../support/fleet.ts";
import { inAccount } from "../support/objects.ts";
import { expectFailures, FAILURES, LONG } from "../support/one-at-a-time.ts";
import { OPERATOR_ENDPOINTS } from "../support/operator-endpoints.ts";
import { newOrganization, setRole, setShare } from "../support/organizations.ts";
import { advance } from "../support/time.ts";
import { setVariable } from "../support/variables.ts";
import {
  newOperatorUser,
  newUser,
  newWorld,
  operator,
  unique,
  type World,
} from "../support/world.ts";

const VARIABLE = "HF_TOKEN";

/** Whether a call uses up what it names, or adds to something that an account has a limited number of. */
const isSpent = (key: string) =>
  /^DELETE|^POST .*(?:webhook|organizations|examples$|predictions$|responses$|cancel$|complete$)|^PUT .*part_number$/.test(
    key,
  );

/** @param key method and address, as in the tables of endpoint-access.ts */
async function placeFor(key: string, world: World): Promise<PathParameters> {
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
    ...(key.includes(":prediction_id") && { prediction_id: await predictionFor(key, world) }),
  };
}

/** Cancels all waiting predictions, so that the account is below its limit. */
async function endAll({ client, user_id }: World): Promise<void> {
  const waiting = "SELECT id FROM predictions WHERE status = 'pending'";
  for (const { id } of await inAccount(user_id, waiting)) await client.cancel(id);
}

/** Creates a model without runs. */
async function idleModel({ client, username }: World): Promise<PathParameters> {
  const { name, id } = await newModel(client);
  await publish(client, `${username}/${name}`);
  await setVariable(client, `${username}/${name}`, VARIABLE);
  return { model_name: name, example_id: await insertExample(id) };
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
  if (key.includes(":slug")) {
    const slug = unique("slug");
    await operator.ok("PUT", `/v1/operator/categories/${slug}`, { name: slug });
    return { slug };
  }
  if (key === "DELETE /v1/operator/users/:username/operator") {
    await newOperatorUser();
    return { username: (await newOperatorUser()).username };
  }
  if (/suspension|\/operator$/.test(key)) return { username: (await newUser()).username };
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

expectFailures();
afterAll(withoutKey);

/** Returns the failures to try. A GET has no effect that could be done without an answer. */
const failuresOf = (key: string) => (key.startsWith("GET") ? FAILURES.slice(0, 1) : FAILURES);

/** The statuses of a repeated call whose first call has had its effect: it is gone, or exists. */
const REPEATED = [404, 409];
/** The endpoint that breaks off after its 200 instead of answering with a 503. */
const BREAKS_OFF = "GET /v1/user/export";
const BROKEN_OFF = { status: 503, headers: new Headers({ "retry-after": "1" }) };
/** The seconds after which caches of isolates have expired. */
const CACHED_S = 10;

/** Endpoints that make no platform calls, or have another test. */
const NOT_HERE = [
  // The build of the Worker writes the following two files.
  "GET /v1/openapi.json",
  "GET /assets/:file",
  "GET /.well-known/security.txt",
  "GET /pictures",
  // Restores need an empty deployment: test/worker/backups/interruptions.nightly.test.ts.
  "PUT /v1/operator/backups/:backup_id/parts/:part_number",
  "POST /v1/operator/backups/:backup_id/restore",
];

/** The client does not wait: no runner takes its run. */
const RUNNING = { headers: { prefer: "wait=0" }, status: 201 };

/** The endpoints of the Replicate convention below its base path, with their usual status. */
const REPLICATE: Record<string, Omit<EndpointCall, "query"> & { status?: number }> = {
  "GET /account": {},
  "GET /hardware": {},
  "GET /webhooks/default/secret": {},
  "POST /files": { body: newForm, status: 201 },
  "GET /files": {},
  "GET /files/:id": {},
  "GET /files/:id/download": {},
  "DELETE /files/:id": { status: 204 },
  "GET /models": {},
  "QUERY /models": { body: () => ({}) },
  "GET /search": {},
  "POST /models": {
    body: ({ owner }) => ({ owner, name: unique("made"), visibility: "private", hardware: "cpu" }),
    status: 201,
  },
  "GET /models/:owner/:name": {},
  "PATCH /models/:owner/:name": { body: () => ({ description: "A story" }) },
  "DELETE /models/:owner/:name": { status: 204 },
  "GET /models/:owner/:name/readme": {},
  "GET /models/:owner/:name/examples": {},
  "GET /models/:owner/:name/versions": {},
  "GET /models/:owner/:name/versions/:version": {},
  "DELETE /models/:owner/:name/versions/:version": { status: 204 },
  "GET /collections": {},
  "GET /collections/:slug": {},
  "POST /predictions": { ...RUNNING, body: ({ version }) => ({ version, input: {} }) },
  "POST /models/:model_owner/:model_name/predictions": { ...RUNNING, body: () => ({ input: {} }) },
  "GET /predictions": {},
  "GET /predictions/:prediction_id": {},
  "POST /predictions/:prediction_id/cancel": {},
  "GET /streams/:prediction_id": {},
};

function newForm(): FormData {
  const form = new FormData();
  form.append("content", new Blob(["hello"], { type: "text/plain" }), "hello.txt");
  return form;
}

/** Returns the usual status of a row: what organizations delete exists here. */
const usualStatus = (key: string, { hidden }: EndpointAccess) =>
  /^DELETE .*organizations|^POST .*user\/organizations/.test(key) ? 200 : hidden[2];

/** The usual status and the caller, by method and address. */
const ROWS = [
  ...Object.entries(ENDPOINT_ACCESS).map(([key, row]) => ({
    key,
    ...row,
    status: usualStatus(key, row),
    isOperator: false,
  })),
  ...Object.entries(REPLICATE).map(([key, row]) => ({
    key: key.replace(" ", ` ${REPLICATE_PATH}`),
    status: 200,
    ...row,
    isOperator: false,
  })),
  ...Object.entries(OPERATOR_ENDPOINTS).map(([key, row]) => ({
    key,
    ...row,
    status: 200,
    isOperator: true,
  })),
  { key: "GET /avatars/:user_id/:hash", status: 200, isOperator: false },
].filter(({ key }) => !NOT_HERE.includes(key));

test("the tables have every endpoint", () => {
  const routes = app.routes
    .filter(({ method, path }) => method !== "ALL" && !/^\/docs|\*/.test(path))
    .map(({ method, path }) => `${method} ${path}`)
    .filter((key) => !/\/v1\/runner\/| \/v2/.test(key));
  const named = [...ROWS.map(({ key }) => key), ...NOT_HERE];
  expect(named.sort()).toEqual([...new Set(routes)].sort());
});

test.each(ROWS)(
  "$key is answered well although each of its calls fails in turn",
  LONG,
  async ({ key, isOperator, status: usual, ...row }) => {
    const world = await newWorld({ compatibilities: { vendora_responses: true } });
    const client = isOperator ? operator : world.client;
    const kept = isSpent(key) ? undefined : await placeFor(key, world);
    const platform = failing();
    const ask = async (nth = 0, failure?: Failure) => {
      const place = kept ?? (await placeFor(key, world));
      advance(CACHED_S + 1);
      platform.begin((call) => (call === nth ? failure : undefined));
      const statuses = await askedAgain(() =>
        callEndpoint(client, key, place, row).catch((error) => {
          if (key !== BREAKS_OFF) throw error;
          return BROKEN_OFF;
        }),
      );
      const calls = platform.calls();
      platform.end();
      const mayBeDone = failure?.isDone || key.startsWith("DELETE");
      const expected = mayBeDone ? [usual, ...REPEATED] : [usual];
      const where = `${failure?.message} at ${calls[nth - 1]}, ${nth} of ${calls}: ${statuses}`;
      expect(expected, where).toContain(statuses.at(-1));
      return calls;
    };
    const calls = await ask();
    expect(calls).not.toEqual([]);
    for (let nth = 1; nth <= calls.length; nth++)
      for (const failure of failuresOf(key)) await ask(nth, failure);
  },
);
