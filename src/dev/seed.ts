/** Sets up a new deployment for its first prediction, over its API. */
import { listModels, type ModelFolder } from "../../runner/src/engines/process/model-folder.ts";
import { nothing, pageOf } from "../protocol/common.ts";
import { example } from "../protocol/example.ts";
import { DEFAULT_HARDWARE } from "../protocol/hardware.ts";
import { model, type Visibility, version } from "../protocol/model.ts";
import { newToken } from "../protocol/operator.ts";
import { member, newOrganizationInvitation, organization } from "../protocol/organization.ts";
import { predictionWithIO } from "../protocol/prediction.ts";
import { user } from "../protocol/user.ts";
import { CallFailed, Client } from "./client.ts";
import type { Secrets } from "./state.ts";

export interface Seed {
  username: string;
  token: string;
  runnerToken: string;
}

/** A user with a token, and a runner token for the class of models that name none. */
export async function seed(operator: Client, username: string): Promise<Seed> {
  await unlessThere(operator.call(user, "POST", "/operator/users", { body: { username } }));
  const [access, runner] = await Promise.all([
    operator.call(newToken, "POST", `/operator/users/${username}/tokens`, {
      body: { name: "npm start" },
    }),
    operator.call(newToken, "POST", "/operator/runner_tokens", {
      body: { name: "npm start: default hardware", hardware: [DEFAULT_HARDWARE] },
    }),
  ]);
  return { username, token: access.token, runnerToken: runner.token };
}

/** Returns the seed of an earlier start, or a new one if it is gone: a token may have been revoked since. */
export async function seeded(
  operator: Client,
  url: string,
  username: string,
  last: Seed | undefined,
): Promise<Seed> {
  const isThere =
    last &&
    (await new Client(url, last.token).fetch("GET", "/predictions")).ok &&
    (await keptRunnerToken(url, last.runnerToken, DEFAULT_HARDWARE));
  return isThere ? last : seed(operator, username);
}

/** The token of an earlier start, if runners of that class of hardware can still use it. */
export async function keptRunnerToken(
  url: string,
  token: string | undefined,
  hardware: string,
): Promise<string | undefined> {
  if (token === undefined) return undefined;
  const { ok } = await new Client(url, token).fetch("GET", `/runner/hardware/${hardware}`);
  return ok ? token : undefined;
}

/** Publishes the model folders below `folder`: a new version for each whose files have changed. */
export async function publishModels(
  owner: Client,
  username: string,
  folder: string,
  hardware = DEFAULT_HARDWARE,
): Promise<void> {
  await Promise.all(
    (await listModels(folder)).map((found) => publishModel(owner, username, found, hardware)),
  );
}

export async function publishModel(
  owner: Client,
  username: string,
  { manifest, digest }: ModelFolder,
  hardware_identifier = DEFAULT_HARDWARE,
  visibility: Visibility = "public",
): Promise<void> {
  const { name, description, schemas, compatibilities, configuration } = manifest;
  const path = `/models/${username}/${name}`;
  const category_slugs = CATEGORIES[name] ?? [];
  const body = { name, description, visibility, hardware_identifier, category_slugs };
  await unlessThere(owner.call(model, "POST", "/models", { body }));
  const { latest_version, hardware } = await owner.call(model, "GET", path);
  // The model's, not the version's: with the next start it may be another (runner.ts).
  if (hardware?.identifier !== hardware_identifier)
    await owner.call(model, "PATCH", path, { body: { hardware_identifier } });
  if (latest_version?.container_image_digest === digest) return;
  await owner.call(version, "POST", `${path}/versions`, {
    body: {
      release_notes: latest_version ? "Changed files" : "First version",
      schemas,
      container_image_digest: digest,
      compatibilities,
      configuration: { ...configuration, interface: manifest.interface },
    },
  });
}

/** Categories by the name of the example model. */
const CATEGORIES: Record<string, string[]> = {
  chat: ["chat"],
  embeddings: ["embeddings"],
  image: ["image-generation"],
  "speech-to-text": ["speech-to-text"],
  "text-generation": ["text-generation"],
  "text-to-speech": ["text-to-speech"],
};

async function unlessThere(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    if (!(error instanceof CallFailed && error.status === 409)) throw error;
  });
}

export const EMAIL = "demo@example.com";

/** Lets the seeded user log in. Does nothing if they already can. */
export async function signUp(
  url: string,
  username: string,
  { operatorToken, password }: Pick<Secrets, "operatorToken" | "password">,
): Promise<void> {
  const response = await fetch(`${url}/set-up`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: url, accept: "text/html" },
    body: new URLSearchParams({
      operator_token: operatorToken,
      username,
      name: "Demo",
      email: EMAIL,
      password,
    }),
  });
  await response.body?.cancel();
  // 422: the email or the username is taken, by the same user in an earlier start.
  if (response.status !== 303 && response.status !== 422)
    throw new Error(`/set-up answered ${response.status}`);
}

export const ORGANIZATION = "acme";
const MEMBER = "grace";
const MODEL = "text-generation";

interface Seeding {
  url: string;
  operator: Client;
  owner: Seed;
}

/**
 * Makes an organization of two people with a private model, which both have run. The next start completes it,
 * unless it has been deleted or renamed.
 */
export async function seedOrganization(
  { url, operator, owner }: Seeding,
  folder: string,
  hardware: string,
): Promise<void> {
  const body = { username: ORGANIZATION, name: "Acme", owner: owner.username };
  await unlessThere(operator.call(organization, "POST", "/operator/organizations", { body }));
  const own = new Client(url, owner.token);
  const path = `/organizations/${ORGANIZATION}`;
  if (!(await own.fetch("GET", path)).ok) return;
  /** Acts for the organization with a token of a member. */
  const act = async (by: Client, what: (client: Client) => Promise<unknown>) => {
    const body = { name: "npm start" };
    const { id, token } = await by.call(newToken, "POST", `${path}/tokens`, { body });
    await what(new Client(url, token));
    await by.call(nothing, "DELETE", `${path}/tokens/${id}`);
  };
  const found = (await listModels(folder)).find(({ manifest }) => manifest.name === MODEL);
  if (found)
    await act(own, (client) => publishModel(client, ORGANIZATION, found, hardware, "private"));
  const { items } = await own.call(pageOf(member), "GET", `${path}/members`);
  if (items.length > 1) return;
  const { invitation } = await own.call(newOrganizationInvitation, "POST", `${path}/invitations`, {
    body: { role: "developer", note: "for Grace" },
  });
  const grace = { username: MEMBER, name: "Grace" };
  await unlessThere(operator.call(user, "POST", "/operator/users", { body: grace }));
  const tokens = `/operator/users/${MEMBER}/tokens`;
  const made = await operator.call(newToken, "POST", tokens, { body: { name: "npm start" } });
  const other = new Client(url, made.token);
  await other.call(organization, "POST", "/user/organizations", { body: { invitation } });
  const run = (prompt: string) => (client: Client) =>
    client.call(predictionWithIO, "POST", "/predictions", {
      headers: { prefer: "wait" },
      body: { model: `${ORGANIZATION}/${MODEL}`, input: { prompt, max_tokens: 40 } },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  await act(own, run("The Queen said"));
  await act(other, run("The Hatter said"));
}

const TIMEOUT_MS = 60_000;

/** Inputs by the name of the model. */
const INPUTS: Record<string, object> = {
  image: { prompt: "A red sunset over snowy mountains, with a lake", num_outputs: 4, seed: 3 },
  embeddings: { input: ["A cat sleeps", "A kitten naps", "The king's army marches"] },
  "text-generation": { prompt: "Alice was", max_tokens: 80, seed: 7 },
  chat: { messages: [{ role: "user", content: "Where is the golden key?" }] },
  "text-to-speech": { text: "Curiouser and curiouser, said Alice." },
};

/** Pins an example for each model that has none. The next start tries failed ones again. */
export async function pinExamples(client: Client, owner: string): Promise<void> {
  for (const [name, input] of Object.entries(INPUTS)) {
    const output = await pinExample(client, `${owner}/${name}`, input);
    if (name === "text-to-speech" && typeof output === "string")
      await pinExample(client, `${owner}/speech-to-text`, { audio: output });
  }
}

/** @returns the output; undefined if the model has an example already, or the run failed */
async function pinExample(client: Client, model: string, input: object) {
  const path = `/models/${model}/examples`;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const { items } = await client.call(pageOf(example), "GET", path, { signal });
  if (items.length > 0) return undefined;
  const { id, status, output } = await client.call(predictionWithIO, "POST", "/predictions", {
    headers: { prefer: "wait" },
    body: { model, input },
    signal,
  });
  if (status !== "succeeded") return undefined;
  await client.call(example, "POST", path, { body: { prediction_id: id }, signal });
  return output;
}
