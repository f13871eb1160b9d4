/** A real executor over real Docker, with models from a registry of its own. */
import { randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Dockerode from "dockerode";
import { createExecutor } from "../../../runner/src/containers/create-executor.ts";
import type { TunnelOptions } from "../../../runner/src/containers/tunnels.ts";
import { ControlPlane } from "../../../runner/src/control-plane/client.ts";
import type { DeviceSource } from "../../../runner/src/devices/device.ts";
import { PretendGpus } from "../../../runner/src/devices/device.ts";
import type { DockerOptions } from "../../../runner/src/engines/options.ts";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import type { Log } from "../../../runner/src/lib/log.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Image } from "../../../src/protocol/runner.ts";
import { docker, makeBase, type Registry, startRegistry } from "../../docker/registry.ts";
import { copyModel } from "../../support/models.ts";
import {
  fileOptions,
  makeJob,
  QUICK,
  record,
  signals,
  silent,
  weightOptions,
} from "./containers.ts";
import { FakeControlPlane } from "./fake-control-plane.ts";

/** Docker without its command, each call of which takes 0.1 s of a processor. */
const engine = new Dockerode();

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

interface ModelOptions {
  labels?: string[];
  /** Commands of a Dockerfile, after those of the example. */
  commands?: string[];
}

/**
 * The example's own Dockerfile copies the files first. Here, Docker has the steps before them in its cache from the
 * first image of a box: each would cost it 0.2 s of a processor.
 */
const STEPS = [
  "FROM node:24-slim",
  "WORKDIR /src",
  "EXPOSE 5000",
  'CMD ["node", "model.mjs"]',
  "COPY . .",
];

export class DockerBox {
  readonly folder = mkdtempSync(join(tmpdir(), "auspex-docker-"));
  readonly images: Record<string, Image> = {};
  readonly name = `test-${randomBytes(4).toString("hex")}`;
  readonly registry: Registry;
  readonly plane: FakeControlPlane;
  /** The address of the weight server. */
  weightsUrl: string;

  static async start(): Promise<DockerBox> {
    await makeBase();
    return new DockerBox(await startRegistry(), await FakeControlPlane.start());
  }

  private constructor(registry: Registry, plane: FakeControlPlane) {
    this.registry = registry;
    this.plane = plane;
    this.weightsUrl = plane.url;
  }

  /** Pushes an image with the example `hello`'s server and another model. */
  async push(model: string, script: string, options: ModelOptions = {}): Promise<Image> {
    const context = join(this.folder, model);
    await copyModel("hello", context);
    cpSync(here(`../models/${script}`), join(context, "model.mjs"));
    const manifest = { name: model, schemas: { prediction: { input: {}, output: {} } } };
    writeFileSync(join(context, "auspex.json"), JSON.stringify(manifest));
    writeFileSync(
      join(context, "Dockerfile"),
      [...STEPS, ...(options.commands ?? []), ""].join("\n"),
    );
    const path = `test/${model}`;
    const repository = `${this.registry.host}/${path}`;
    const flags = (options.labels ?? []).flatMap((label) => ["--label", label]);
    await docker("build", "--quiet", "--tag", repository, ...flags, context);
    const { digest } = await this.registry.send(path);
    const image = { repository, digest };
    this.images[model] = image;
    return image;
  }

  executor(
    engine: Partial<DockerOptions> = {},
    log: Log = silent,
    containers = 4,
    tunnels: TunnelOptions = {},
    gpus: DeviceSource = new PretendGpus(0),
    memoryIntervalMs?: number,
  ): Executor {
    return createExecutor({
      name: this.name,
      slots: containers,
      engine: { kind: "docker", ...engine },
      gpus,
      controlPlane: new ControlPlane({ url: this.plane.url, token: "ausr_x" }),
      files: fileOptions(join(this.folder, "cache")),
      weights: weightOptions(join(this.folder, "weights"), this.weightsUrl),
      log,
      timing: QUICK,
      tunnels,
      ...(memoryIntervalMs !== undefined && { memoryIntervalMs }),
    });
  }

  run(
    executor: Executor,
    model: string,
    input: Record<string, Json> = {},
    more: Parameters<typeof makeJob>[2] = {},
    stop = signals(),
  ) {
    const image = this.images[model];
    if (!image) throw new Error(`no image ${model}`);
    const reporter = record();
    return { reporter, finish: executor.run(makeJob(image, input, more), reporter, stop) };
  }

  /** Returns the IDs of this box's containers in any state, or only those of a model, the newest first. */
  async containers(model?: string): Promise<string[]> {
    const labels = [`auspex.runner=${this.name}`];
    if (model !== undefined) {
      const { repository, digest } = this.images[model] ?? {};
      labels.push(`auspex.image=${repository}@${digest}`);
    }
    const found = await engine.listContainers({ all: true, filters: { label: labels } });
    return found.map(({ Id }) => Id);
  }

  /** Returns the names of this box's networks. */
  async networks(): Promise<string[]> {
    const filters = { label: [`auspex.runner=${this.name}`] };
    return (await engine.listNetworks({ filters })).map(({ Name }) => Name);
  }

  async close(): Promise<void> {
    await this.registry.stop();
    await this.plane.stop();
    rmSync(this.folder, { recursive: true });
  }
}

const withStacks = (_name: string, value: unknown) =>
  value instanceof Error ? value.stack : value;

/** Returns a log that keeps its lines. */
export function recordedLog(): Log & { lines: string[] } {
  const lines: string[] = [];
  const write =
    (level: string): Log["info"] =>
    (message, fields) =>
      lines.push(`${level} ${message} ${JSON.stringify(fields ?? {}, withStacks)}`);
  const log = {
    lines,
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    with: (): Log => log,
  };
  return log;
}
