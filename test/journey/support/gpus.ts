/** A world whose runners have pretend GPUs, and whose models output which of them they see. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject } from "vitest";
import { z } from "zod";
import { listModels, MANIFEST } from "../../../runner/src/engines/process/model-folder.ts";
import type { Client } from "../../../src/dev/client.ts";
import { publishModel } from "../../../src/dev/seed.ts";
import { hardware } from "../../../src/protocol/hardware.ts";
import type { Configuration } from "../../../src/protocol/model.ts";
import { newToken } from "../../../src/protocol/operator.ts";
import { prediction, predictionWithIO } from "../../../src/protocol/prediction.ts";
import { USERNAME } from "./access.ts";
import type { Runner } from "./runner.ts";
import { Watch } from "./watch.ts";
import { World } from "./world.ts";

export const POOL = "l40s";

/** The classes of the pool, with the number of GPUs that a container of each has. */
export const CLASSES = { l40s: 1, "l40s-x4": 4, "l40s-cpu": 0 };
export type Class = keyof typeof CLASSES;

/** The output of a run, which describes its container. */
const told = z.object({
  pid: z.int(),
  /** The folder of the model on its box. */
  directory: z.string(),
  gpus: z.array(z.string()),
  cuda: z.string(),
  /** Unix ms. */
  began: z.number(),
  ended: z.number(),
});
export type Told = z.infer<typeof told>;

/** Longer than any journey. */
const SUCCEEDS_MS = 120_000;

interface Model {
  hardware: Class;
  configuration?: Configuration;
}

interface BoxOptions {
  gpus: number;
  slots?: number;
  environment?: Record<string, string>;
}

export class GpuWorld {
  readonly world: World;
  readonly #models: string;
  readonly #runnerToken: string;

  private constructor(world: World, models: string, runnerToken: string) {
    this.world = world;
    this.#models = models;
    this.#runnerToken = runnerToken;
  }

  /** @param models by name */
  static async open(
    models: Record<string, Model>,
    variables: Record<string, string> = {},
  ): Promise<GpuWorld> {
    // A busy machine delays a runner, which also waits for the processes of its models.
    const world = await World.open({ variables: { CONNECT_SECONDS: "10", ...variables } });
    const { operator } = world;
    for (const [identifier, gpus] of Object.entries(CLASSES)) {
      const body = { name: identifier, gpus, pool: POOL };
      await operator.call(hardware, "PUT", `/operator/hardware/${identifier}`, { body });
    }
    const body = { name: "GPUs", hardware: Object.keys(CLASSES) };
    const { token } = await operator.call(newToken, "POST", "/operator/runner_tokens", { body });
    const folder = join(world.folder, "gpu-models");
    for (const [name, { configuration }] of Object.entries(models))
      copyModel(folder, name, configuration);
    for (const found of await listModels(folder)) {
      const model = models[found.manifest.name];
      if (model) await publishModel(world.client, USERNAME, found, model.hardware);
    }
    return new GpuWorld(world, folder, token);
  }

  /** Starts a runner of all classes with this many GPUs. */
  async box(name: string, { gpus, slots = gpus, environment }: BoxOptions): Promise<Runner> {
    const folder = mkdtempSync(join(this.world.folder, `${name}-models-`));
    cpSync(this.#models, folder, { recursive: true });
    return this.world.runner(name, {
      hardware: Object.keys(CLASSES).join(","),
      token: this.#runnerToken,
      slots,
      models: { owners: [USERNAME], folder },
      environment: { AUSPEX_PRETEND_GPUS: String(gpus), ...environment },
    });
  }

  /** Creates a prediction for another account, and watches it. */
  async createFor(client: Client, model: string): Promise<Watch> {
    const body = { model: `${USERNAME}/${model}`, input: {} };
    const { id } = await client.call(predictionWithIO, "POST", "/predictions", { body });
    return new Watch(client, id, AbortSignal.timeout(SUCCEEDS_MS));
  }

  /**
   * Waits for the end, and checks that the only attempt succeeded with exactly this many GPUs, also in CUDA's
   * variable.
   */
  async succeeds(watch: Watch, gpus: number): Promise<Told> {
    const { data } = await watch.first("done");
    const end = prediction.parse(data);
    expect(end.status, end.error?.message).toBe("succeeded");
    expect(watch.attempts).toHaveLength(1);
    const [output] = watch.dataOf("output");
    const run = told.parse(output);
    expect(run.gpus).toHaveLength(gpus);
    expect(new Set(run.gpus).size).toBe(gpus);
    expect(run.cuda).toBe(run.gpus.join(",") || "-1");
    return run;
  }
}

function copyModel(folder: string, name: string, configuration: Configuration = {}): void {
  const directory = join(folder, name);
  mkdirSync(folder, { recursive: true });
  cpSync(join(inject("prepared").models, "exclusive"), directory, { recursive: true });
  const path = join(directory, MANIFEST);
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...manifest, name, configuration }));
}

/** Checks that no GPU is in two runs at a time. Each model process checks for two containers itself. */
export function expectNoneTwice(runs: readonly Told[]): void {
  for (const [n, one] of runs.entries())
    for (const other of runs.slice(n + 1)) {
      const isOver = one.ended <= other.began || other.ended <= one.began;
      expect(isOver ? [] : one.gpus.filter((gpu) => other.gpus.includes(gpu))).toEqual([]);
    }
}
