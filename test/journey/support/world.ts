/** A world of its own for one file of journeys: a deployment with a user and models, and runners. */
import { randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, vi } from "vitest";
import { z } from "zod";
import { Client } from "../../../src/dev/client.ts";
import type { Deployment } from "../../../src/dev/deployment.ts";
import { type Relay, startRelay } from "../../../src/dev/relay.ts";
import type { RunnerOptions } from "../../../src/dev/runner.ts";
import { publishModels, type Seed, seed } from "../../../src/dev/seed.ts";
import { pageOf } from "../../../src/protocol/common.ts";
import { runnerState } from "../../../src/protocol/fleet.ts";
import {
  type PredictionWithIO,
  prediction,
  predictionWithIO,
} from "../../../src/protocol/prediction.ts";
import { Cable } from "../../processes/cable.ts";
import { RUNNER } from "../../processes/packages.ts";
import { workerdPid, workerdPids } from "../../processes/workerd.ts";
import { OPERATOR_TOKEN, USERNAME } from "./access.ts";
import { startWorker } from "./deployment.ts";
import { listed } from "./listed.ts";
import { Runner } from "./runner.ts";
import { Watch } from "./watch.ts";

const page = pageOf(prediction);

/** Waits until the rows of the index agree with the predictions. */
async function checkRows(client: Client, ended: PredictionWithIO[]): Promise<void> {
  const rows = async () => {
    const byId = new Map<string, unknown>();
    for (let query: string | undefined = "?page_size=50"; query !== undefined; ) {
      const found: z.infer<typeof page> = await client.call(page, "GET", `/predictions${query}`);
      for (const item of found.items) byId.set(item.id, item);
      query = found.next_url === null ? undefined : new URL(found.next_url).search;
    }
    for (const full of ended) expect(byId.get(full.id)).toEqual(listed(full));
  };
  await vi.waitFor(rows);
}

/** Timeouts short enough for a test, and long enough for a machine with two busy cores, s. */
const PATIENCE = {
  LEASE_SECONDS: "2",
  CONNECT_SECONDS: "1",
  CANCEL_SECONDS: "8",
  TELEMETRY_SECONDS: "1",
};

interface WorldOptions {
  /** The owner of the models and the token; USERNAME by default. */
  username?: string;
  variables?: Record<string, string>;
  /** Publishes other models than the examples and those of the journeys. */
  publish?: (owner: Client) => Promise<void>;
}

export class World {
  readonly client: Client;
  readonly operator: Client;
  /** The address of the deployment, and its user's token. */
  readonly access: { url: string; token: string };
  /** The predictions whose ends were checked. */
  readonly ended: PredictionWithIO[] = [];
  /** The number of times that the control plane was killed. */
  kills = 0;
  readonly #deployment: Deployment;
  readonly #user: Seed;
  readonly #folder: string;
  readonly #models: string | undefined;
  readonly #runners: Runner[] = [];
  readonly #cables: Cable[] = [];
  readonly #relays: Relay[] = [];
  readonly #over = new AbortController();

  static async open({
    username = USERNAME,
    publish,
    ...options
  }: WorldOptions = {}): Promise<World> {
    const variables = { ...PATIENCE, ...options.variables };
    const folder = mkdtempSync(join(tmpdir(), "auspex-journey-"));
    const stateFolder = join(folder, "state");
    const prepared = inject("prepared");
    const isPrepared = username === USERNAME && publish === undefined;
    if (isPrepared) cpSync(prepared.state, stateFolder, { recursive: true });
    const deployment = await startWorker({ stateFolder, variables });
    try {
      const user = isPrepared
        ? prepared.user
        : await seed(new Client(deployment.url, OPERATOR_TOKEN), username);
      const owner = new Client(deployment.url, user.token);
      if (publish) await publish(owner);
      else if (!isPrepared) await publishModels(owner, username, prepared.models);
      const models = publish ? undefined : prepared.models;
      return new World(deployment, user, folder, models);
    } catch (error) {
      await deployment.stop();
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(
    deployment: Deployment,
    user: Seed,
    folder: string,
    models: string | undefined,
  ) {
    this.#deployment = deployment;
    this.#user = user;
    this.#folder = folder;
    this.#models = models;
    this.access = { url: deployment.url, token: user.token };
    this.client = new Client(deployment.url, user.token);
    this.operator = new Client(deployment.url, OPERATOR_TOKEN);
  }

  /** Starts a runner with a copy of the models of its own. Resolves when it has registered. */
  async runner(name: string, options: Partial<RunnerOptions> = {}): Promise<Runner> {
    // Names of containers and networks are shared by all worlds of the machine.
    const unique = `${name}-${randomBytes(4).toString("hex")}`;
    const stateFolder = join(this.#folder, unique);
    const folder = join(stateFolder, "models");
    if (this.#models) cpSync(this.#models, folder, { recursive: true });
    const runner = new Runner({
      url: this.#deployment.url,
      token: this.#user.runnerToken,
      name: unique,
      hardware: "cpu",
      slots: 4,
      stateFolder,
      ...(this.#models && { models: { owners: [this.#user.username], folder } }),
      command: RUNNER,
      ...options,
    });
    this.#runners.push(runner);
    await runner.says(/ registered /);
    return runner;
  }

  /** Reloads a runner, and starts its next process, which waits until the old one has ended. */
  update(runner: Runner): Runner {
    runner.signal("SIGUSR2");
    const next = runner.next();
    this.#runners.push(next);
    return next;
  }

  /** The folder with all files of the deployment and its runners. */
  get folder(): string {
    return this.#folder;
  }

  /** Opens a cable to the Worker that can be pulled. */
  async cable(): Promise<Cable> {
    const cable = await Cable.open(this.#deployment.url);
    this.#cables.push(cable);
    return cable;
  }

  /**
   * Opens the relay that `npm start` puts before the Worker, where a client that leaves is noticed at once.
   */
  async relay(): Promise<Relay> {
    const relay = await startRelay(this.#deployment.url, 0);
    this.#relays.push(relay);
    return relay;
  }

  /** Returns the user's client on such a cable. */
  clientOver(cable: Cable): Client {
    return new Client(cable.url, this.#user.token);
  }

  /** Creates a prediction and watches it. */
  async create(
    model: string,
    input: Record<string, unknown>,
    headers: Record<string, string> = {},
  ): Promise<Watch> {
    const body = { model: `${this.#user.username}/${model}`, input };
    const { id } = await this.client.call(predictionWithIO, "POST", "/predictions", {
      body,
      headers,
    });
    return this.watch(id);
  }

  watch(id: string, isEventSource = false): Watch {
    return new Watch(this.client, id, this.#over.signal, isEventSource);
  }

  /** Cancels a prediction. @returns the status of the answer */
  async cancel(id: string): Promise<number> {
    return (await this.client.fetch("POST", `/predictions/${id}/cancel`)).status;
  }

  get(id: string) {
    return this.client.call(predictionWithIO, "GET", `/predictions/${id}`);
  }

  async runnerStates() {
    const answer = z.object({ items: z.array(runnerState) });
    return (await this.operator.call(answer, "GET", "/operator/runners")).items;
  }

  /** Kills the control plane with -9; Miniflare starts it again on the same port and state. */
  killControlPlane(): void {
    const pid = workerdPid();
    if (pid === undefined) throw new Error("no workerd is running");
    process.kill(pid, "SIGKILL");
    this.kills += 1;
  }

  /** Ends these runners, and checks that they ended well and left nothing. */
  async retire(...runners: Runner[]): Promise<void> {
    await Promise.all(runners.map((runner) => runner.finish()));
    for (const runner of runners) this.#runners.splice(this.#runners.indexOf(runner), 1);
  }

  retireRunners(): Promise<void> {
    return this.retire(...this.#runners);
  }

  retireAll(): Promise<void> {
    for (const way of [...this.#cables.splice(0), ...this.#relays.splice(0)]) way.close();
    return this.retireRunners();
  }

  /** Stops the world. Checks that nothing is left, that all ended well, and that the index has all ends. */
  async close(): Promise<void> {
    try {
      await this.retireAll();
      await checkRows(this.client, this.ended);
    } finally {
      this.#over.abort();
      for (const runner of this.#runners) runner.signal("SIGKILL");
      const others = workerdPids().length - 1;
      await this.#deployment.stop();
      await vi.waitFor(() => expect(workerdPids()).toHaveLength(others));
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }
}
