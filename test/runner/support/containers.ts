/** A real executor over model folders in a temporary directory, and its state after a run. */
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import {
  createExecutor,
  type ExecutorOptions,
} from "../../../runner/src/containers/create-executor.ts";
import { ControlPlane } from "../../../runner/src/control-plane/client.ts";
import type { EngineOptions } from "../../../runner/src/engines/options.ts";
import type { FileOptions } from "../../../runner/src/files/input-files.ts";
import type { Timing } from "../../../runner/src/interfaces/interface.ts";
import type { Executor, RunnableJob, RunSignals } from "../../../runner/src/jobs/executor.ts";
import type { Log } from "../../../runner/src/lib/log.ts";
import type { WeightOptions } from "../../../runner/src/weights/weights.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { ReportedEvent } from "../../../src/protocol/event.ts";
import type { Image } from "../../../src/protocol/runner.ts";
import type { RunReporter } from "../../../src/run/run-reporter.ts";
import { processesIn } from "../../processes/processes-in.ts";
import { FakeControlPlane } from "./fake-control-plane.ts";
import type {} from "./model-folders.ts";

/** Times that are short for tests, and long enough for a machine with two busy cores. */
export const QUICK: Partial<Timing> = {
  cancelGraceMs: 300,
  healthPollMs: 50,
  exitNoticeMs: 2_000,
  stopGraceMs: 2_000,
};

export const silent: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silent,
};

export interface Recorded extends RunReporter {
  events: ReportedEvent[];
  of(event: ReportedEvent["event"]): unknown[];
  /** Resolves at the first event of this kind. */
  first(event: ReportedEvent["event"]): Promise<void>;
}

export function record(): Recorded {
  const events: ReportedEvent[] = [];
  const waiting: { event: string; resolve: () => void }[] = [];
  const push = (event: ReportedEvent) => {
    events.push(event);
    for (const one of waiting) if (one.event === event.event) one.resolve();
  };
  return {
    events,
    of: (event) => events.filter((one) => one.event === event).map(({ data }) => data),
    first(event) {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (events.some((one) => one.event === event)) resolve();
      waiting.push({ event, resolve });
      return promise;
    },
    setup: (data) => push({ event: "setup", data }),
    output: (data) => push({ event: "output", data }),
    reserve: () => true,
    outputJson: (text) => push({ event: "output", data: JSON.parse(text) }),
    storedOutput: (data) => push({ event: "stored", data }),
    logs: (data) => push({ event: "logs", data }),
    metrics: (data) => push({ event: "metrics", data }),
  };
}

const OWNER = "test";

export type JobOptions = Partial<
  Pick<
    RunnableJob,
    | "prediction_id"
    | "attempt"
    | "keys"
    | "model"
    | "hardware"
    | "variables"
    | "setup_logs"
    | "measure"
    | "describe"
    | "interface"
    | "egress"
    | "hardware"
    | "files"
    | "weights"
    | "call"
    | "traceparent"
    | "warm_up"
    | "start"
  >
> & { limits?: Partial<RunnableJob["limits"]> };

export function makeJob(
  image: Image,
  input: Record<string, Json>,
  more: JobOptions = {},
): RunnableJob {
  const { limits, variables, weights, egress, interface: server, hardware } = more;
  // The key is like the control plane's: it has everything in which containers differ.
  const parts = [image, limits?.max_concurrency, variables, weights, egress, server, hardware];
  return {
    prediction_id: randomUUID(),
    attempt: 1,
    handout: 1,
    stop: [],
    lease: "lease",
    model: { owner: OWNER, name: "model", version_number: 1 },
    interface: "cog",
    call: null,
    variables: {},
    setup_logs: true,
    measure: false,
    image,
    keys: { container: JSON.stringify(parts), files: "f" },
    hardware: { identifier: "cpu", gpus: 0 },
    egress: "public",
    input,
    files: [],
    ...more,
    limits: {
      idle_seconds: 60,
      max_concurrency: 1,
      output_bytes: 100_000,
      logs_bytes: 100_000,
      ...more.limits,
    },
  };
}

export function signals(): RunSignals & { abortCancel(): void; abortAbandon(): void } {
  const [cancel, abandon] = [new AbortController(), new AbortController()];
  return {
    cancel: cancel.signal,
    abandon: abandon.signal,
    abortCancel: () => cancel.abort(),
    abortAbandon: () => abandon.abort(),
  };
}

export interface Box {
  executor: Executor;
  plane: FakeControlPlane;
  directory: string;
  /** The folder of the models of `test`, and the folder with the models of each owner. */
  models: string;
  owners: string;
  image(name: string): Promise<Image>;
  /** Returns the pids of the processes that run in a model folder of this box. */
  processes(): number[];
  job(name: string, input: Record<string, Json>, more?: JobOptions): RunnableJob;
  run(
    name: string,
    input: Record<string, Json>,
    more?: JobOptions,
    stop?: RunSignals,
  ): { reporter: Recorded; finish: ReturnType<Executor["run"]> };
  close(): Promise<void>;
}

export const weightOptions = (directory: string, url: string): WeightOptions => ({
  directory,
  bytes: 100_000_000,
  url,
});

export const fileOptions = (cache: string): FileOptions => ({
  cache,
  cache_bytes: 100_000_000,
  cache_ms: 3_600_000,
  max_file_bytes: 50_000_000,
  fetch_allow: [],
});

/** Opens a box with `liar`, `files`, `server` and the examples as its own folders. */
export async function openBox(
  slots = 4,
  timing: Partial<Timing> = QUICK,
  more: Partial<ExecutorOptions> = {},
  bounds: Partial<FileOptions> = {},
): Promise<Box> {
  const directory = mkdtempSync(join(tmpdir(), "auspex-box-"));
  const owners = join(directory, "models");
  const models = join(owners, OWNER);
  const { folder, digests } = inject("models");
  cpSync(folder, models, { recursive: true });
  const engine: EngineOptions = {
    kind: "process",
    models: owners,
    state: join(directory, "state"),
  };
  const plane = await FakeControlPlane.start();
  const controlPlane = new ControlPlane({ url: plane.url, token: "ausr_x" });
  const files = { ...fileOptions(join(directory, "cache")), ...bounds };
  const weights = weightOptions(join(directory, "state", "weights"), plane.url);
  const options = {
    name: "test",
    slots,
    engine,
    controlPlane,
    files,
    weights,
    log: silent,
    timing,
  };
  const executor = createExecutor({ ...options, ...more });
  await executor.open();
  const images = new Map<string, Image>();
  for (const [name, digest] of digests)
    images.set(name, { repository: `registry.test/${name}`, digest });
  const jobFor = (name: string, input: Record<string, Json>, more: JobOptions = {}) => {
    const image = images.get(name) ?? { repository: name, digest: `sha256:${"0".repeat(64)}` };
    const model = { owner: OWNER, name, version_number: 1 };
    return makeJob(image, input, { model, ...more });
  };
  return {
    executor,
    plane,
    directory,
    job: jobFor,
    models,
    owners,
    async image(name) {
      const image = images.get(name);
      if (!image) throw new Error(`no model ${name}`);
      return image;
    },
    processes: () => processesIn(models),
    run(name, input, more = {}, stop = signals()) {
      const reporter = record();
      return { reporter, finish: executor.run(jobFor(name, input, more), reporter, stop) };
    },
    async close() {
      await executor.close();
      await plane.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

/** Whether Docker answers, asked once; CI requires it, so that its absence cannot pass for success. */
export const dockerIsUp = process.env.AUSPEX_REQUIRE_DOCKER === "1" || answers();

function answers(): boolean {
  try {
    execFileSync("docker", ["info"], { stdio: "ignore", timeout: 5_000 });
    return true;
  } catch {
    return false;
  }
}
