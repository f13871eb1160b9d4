/** A user with a model on a hardware class of its own, so that tests do not share a pool. */
import { env } from "cloudflare:workers";
import type { Compatibilities, Configuration, Visibility } from "../../../src/protocol/model.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import { Client } from "./client.ts";
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
  configuration,
  visibility = "private",
  compatibilities,
}: WorldOptions = {}): Promise<World> {
  const hardware = unique("hw");
  await made(operator.put(`/v1/operator/hardware/${hardware}`, { name: hardware }));
  const { username, user_id, client } = await newUser();
  await made(
    client.post("/v1/models", { name: "story", visibility, hardware_identifier: hardware }),
  );
  const model = `${username}/story`;
  await made(
    client.post(`/v1/models/${model}/versions`, {
      release_notes: "",
      container_image_digest: DIGEST,
      schemas: { prediction: { input, output: {} } },
      ...(configuration && { configuration }),
      ...(compatibilities && { compatibilities }),
    }),
  );
  const runnerToken = await newRunnerToken(hardware);
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

export async function newUser(token: object = {}) {
  const username = unique("user");
  const user = await made<{ id: string }>(operator.post("/v1/operator/users", { username }));
  const client = await newClient(username, token);
  return { username, user_id: user.id, client };
}

/** Creates a token of a user; `options` are those of the operator's call. */
export async function newClient(username: string, options: object = {}): Promise<Client> {
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

export async function newRunnerToken(...hardware: string[]): Promise<string> {
  const path = "/v1/operator/runner_tokens";
  const { token } = await made<{ token: string }>(operator.post(path, { name: "test", hardware }));
  return token;
}

async function made<Body>(answering: Promise<Response>): Promise<Body> {
  const response = await answering;
  if (response.status !== 200)
    throw new Error(`${response.url} answered ${response.status}: ${await response.text()}`);
  return response.json();
}
