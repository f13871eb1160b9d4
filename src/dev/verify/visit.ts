/**
 * A visit has what the checks need in a deployment: a user, a class of hardware that nobody else's models or
 * runners use, tokens, a runner on this machine with example models. All but the user's name is removed at
 * the end, and the leftovers of a killed visit at the next one.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { listModels, type ModelFolder } from "../../../runner/src/engines/process/model-folder.ts";
import { runnerState } from "../../protocol/fleet.ts";
import { newToken, runnerToken } from "../../protocol/operator.ts";
import { VERIFIER } from "../../protocol/user.ts";
import { CallFailed, Client } from "../client.ts";
import { copyExample } from "../examples.ts";
import { type RunnerProcess, startRunner } from "../runner.ts";

export const NAME = VERIFIER;
const TOKEN_NAME = "npm run verify";
const EXAMPLES = ["text-generation"];
const RUNNER_STOP_MS = 35_000;

const anything = z.unknown();

export class Visit {
  readonly url: string;
  readonly token: string;
  readonly client: Client;
  readonly operator: Client;
  readonly folder: string;
  /** The models of the visit's runner; none is published yet. */
  readonly models: ModelFolder[];
  readonly #runner: RunnerProcess;

  /** @param url of the deployment, without a slash at its end */
  static async begin(url: string, operatorToken: string): Promise<Visit> {
    const operator = new Client(url, operatorToken);
    await make(operator, "POST", "/operator/users", { username: NAME });
    await make(operator, "PUT", `/operator/hardware/${NAME}`, { name: "npm run verify" });
    const [access, runner] = await Promise.all([
      operator.call(newToken, "POST", `/operator/users/${NAME}/tokens`, {
        body: { name: TOKEN_NAME },
      }),
      operator.call(newToken, "POST", "/operator/runner_tokens", {
        body: { name: TOKEN_NAME, hardware: [NAME] },
      }),
    ]);
    await removeOwn(new Client(url, access.token));
    await removeRunners(operator);
    const folder = await mkdtemp(join(tmpdir(), "auspex-verify-"));
    const examples = join(folder, "models");
    for (const name of EXAMPLES) await copyExample(name, join(examples, name));
    const process = startRunner({
      url,
      token: runner.token,
      name: NAME,
      hardware: NAME,
      slots: 8,
      stateFolder: folder,
      models: { owners: [NAME], folder: examples },
    });
    return new Visit(url, access.token, operator, folder, await listModels(examples), process);
  }

  private constructor(
    url: string,
    token: string,
    operator: Client,
    folder: string,
    models: ModelFolder[],
    runner: RunnerProcess,
  ) {
    this.url = url;
    this.token = token;
    this.client = new Client(url, token);
    this.operator = operator;
    this.folder = folder;
    this.models = models;
    this.#runner = runner;
  }

  /** Publishes one of the models. @returns its name, as predictions name it */
  async publish(name: string): Promise<string> {
    const found = this.models.find(({ manifest }) => manifest.name === name);
    if (!found) throw new Error(`Model ${name} not found.`);
    const { description, schemas, compatibilities, configuration } = found.manifest;
    await make(this.client, "POST", "/models", { name, description, hardware_identifier: NAME });
    await make(this.client, "POST", `/models/${NAME}/${name}/versions`, {
      release_notes: "",
      schemas,
      compatibilities,
      container_image_digest: found.digest,
      configuration: { ...configuration, interface: found.manifest.interface },
    });
    return `${NAME}/${name}`;
  }

  /** Removes everything that the visit made. @throws Error with the leftovers */
  async end(): Promise<void> {
    const left: string[] = [];
    const steps = [
      () => removeOwn(this.client),
      () => this.#runner.stop(RUNNER_STOP_MS),
      () => rm(this.folder, { recursive: true, force: true }),
      () => removeRunners(this.operator),
      () => removeTokens(this.operator),
      () => this.operator.call(anything, "DELETE", `/operator/hardware/${NAME}`),
    ];
    for (const step of steps) {
      await step().catch((error: unknown) => left.push(String(error)));
    }
    if (left.length > 0) throw new Error(left.join("; "));
  }
}

/** Makes an item that may be there already, which a `409` says. */
async function make(client: Client, method: string, path: string, body: unknown): Promise<void> {
  await client.call(anything, method, path, { body }).catch((error: unknown) => {
    if (!(error instanceof CallFailed && error.status === 409)) throw error;
  });
}

const withId = z.object({ id: z.string() });
const withName = z.object({ name: z.string() });

const all = async <Item>(client: Client, path: string, item: z.ZodType<Item>): Promise<Item[]> =>
  (await client.call(z.object({ items: z.array(item) }), "GET", path)).items;

/** Cancels the account's running predictions, and removes the data of all. */
async function removeOwn(client: Client): Promise<void> {
  for (const { id } of await all(client, "/predictions?statuses=pending&statuses=started", withId))
    await client.fetch("POST", `/predictions/${id}/cancel`);
  for (const { id } of await all(client, "/predictions", withId))
    await client.fetch("DELETE", `/predictions/${id}`);
  for (const { id } of await all(client, "/webhook-endpoints", withId))
    await client.call(anything, "DELETE", `/webhook-endpoints/${id}`);
  for (const { name } of await all(client, "/user/models", withName))
    await client.call(anything, "DELETE", `/models/${NAME}/${name}`);
}

async function removeRunners(operator: Client): Promise<void> {
  for (const { id, hardware } of await all(operator, "/operator/runners", runnerState))
    if (hardware.join() === NAME)
      await operator.call(anything, "DELETE", `/operator/runners/${id}`);
}

async function removeTokens(operator: Client): Promise<void> {
  for (const { id } of await all(operator, `/operator/users/${NAME}/tokens`, withId))
    await operator.call(anything, "DELETE", `/operator/tokens/${id}`);
  for (const { id, hardware } of await all(operator, "/operator/runner_tokens", runnerToken))
    if (hardware.join() === NAME)
      await operator.call(anything, "DELETE", `/operator/runner_tokens/${id}`);
}
