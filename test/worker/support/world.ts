/** A user with a model on a hardware class of its own, so that tests do not share a pool. */
import { env } from "cloudflare:workers";
import type { Compatibilities, Configuration, Visibility } from "../../../src/protocol/model.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import { Client } from "./client.ts";
import { insertRunnerToken, insertToken, insertUser, insertWorld } from "./rows.ts";
import { type Channel, FakeRunner } from "./runner.ts";

export const operator = new Client(env.OPERATOR_TOKEN);

export const DIGEST = `sha256:${"a".repeat(64)}`;

let count = 0;
export const unique = (name: string) => `${name}-${++count}-${crypto.randomUUID().slice(0, 8)}`;

export interface World {
  username: string;
  user_id: string;
  client: Client;
  hardware: string;
  /** `owner/name`. */
  model: string;
  image: string;
  runnerToken: string;
  /** Returns a new runner of the hardware. */
  runner(slots?: number): Promise<FakeRunner>;
  /** Creates a prediction, which waits for a runner. @returns its ID */
  waiting(input?: object, headers?: Record<string, string>): Promise<string>;
  /** Creates a prediction whose runner has connected. */
  begun(): Promise<{ id: string; runner: FakeRunner; job: Job; channel: Channel }>;
  /** Returns the client of another account, which can use the model when it is public. */
  stranger(): Promise<Client>;
}

export interface WorldOptions {
  input?: object;
  configuration?: Configuration;
  visibility?: Visibility;
  compatibilities?: Partial<Compatibilities>;
}

export async function newWorld({
  input = {},
  configuration = {},
  visibility = "private",
  compatibilities = {},
}: WorldOptions = {}): Promise<World> {
  const hardware = unique("hw");
  const username = unique("user");
  const model = `${username}/story`;
  const { user_id, token, runnerToken } = await insertWorld({
    ...{ username, hardware, model: "story", visibility },
    version: { digest: DIGEST, input, compatibilities, configuration },
  });
  const client = new Client(token);
  const runner = (slots = 1) => FakeRunner.begin(runnerToken, hardware, unique("runner"), slots);
  const waiting = async (given: object = {}, headers?: Record<string, string>) =>
    (await client.create({ model, input: given }, headers)).body.id;
  return {
    username,
    user_id,
    client,
    hardware,
    model,
    image: `${env.IMAGE_REGISTRY}/${model}@${DIGEST}`,
    runnerToken,
    runner,
    waiting,
    begun: async () => {
      const id = await waiting();
      const one = await runner();
      return { id, runner: one, ...(await one.work()) };
    },
    stranger: async () => (await newUser()).client,
  };
}

export async function newUser() {
  const username = unique("user");
  const { user_id, token } = await insertUser(username);
  return { username, user_id, client: new Client(token) };
}

/** Creates a user with a token over the API, which the audit log records. */
export async function createUser() {
  const username = unique("user");
  const user = await made<{ id: string }>(operator.post("/v1/operator/users", { username }));
  return { username, user_id: user.id, client: await createClient(username) };
}

/** Creates a token of a user; `options` are those of the operator's call. */
export async function newClient(username: string, options: object = {}): Promise<Client> {
  if (Object.keys(options).length === 0) return new Client((await insertToken(username)).token);
  return createClient(username, options);
}

async function createClient(username: string, options: object = {}): Promise<Client> {
  const path = `/v1/operator/users/${username}/tokens`;
  const { token } = await made<{ token: string }>(
    operator.post(path, { name: "test", ...options }),
  );
  return new Client(token);
}

/** Creates an operator, whose token has the scope `operator` alone. */
export async function newOperatorUser() {
  const { username, user_id } = await newUser();
  await made(operator.put(`/v1/operator/users/${username}/operator`, {}));
  return { username, user_id, client: await newClient(username, { scopes: ["operator"] }) };
}

/** Creates a token for runners of classes, which need not exist. */
export const newRunnerToken = (...hardware: string[]): Promise<string> =>
  insertRunnerToken(hardware);

async function made<Body>(answering: Promise<Response>): Promise<Body> {
  const response = await answering;
  if (response.status !== 200)
    throw new Error(`${response.url} answered ${response.status}: ${await response.text()}`);
  return response.json();
}
