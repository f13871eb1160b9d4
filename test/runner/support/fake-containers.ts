/** A pool of containers over an engine and an interface in memory: the test decides when runs end. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { Container } from "../../../runner/src/containers/container.ts";
import { MemoryWatch } from "../../../runner/src/containers/memory-watch.ts";
import { ContainerPool } from "../../../runner/src/containers/pool.ts";
import { type RunParts, runJob } from "../../../runner/src/containers/run-job.ts";
import { Tunnels } from "../../../runner/src/containers/tunnels.ts";
import { Measures } from "../../../runner/src/containers/usage.ts";
import { ControlPlane } from "../../../runner/src/control-plane/client.ts";
import { type DeviceSource, PretendGpus } from "../../../runner/src/devices/device.ts";
import { DeviceWatch } from "../../../runner/src/devices/device-watch.ts";
import { Ledger } from "../../../runner/src/devices/ledger.ts";
import type {
  ContainerHandle,
  Engine,
  Exit,
  LaunchOptions,
  RunningContainer,
} from "../../../runner/src/engines/engine.ts";
import { InputFiles } from "../../../runner/src/files/input-files.ts";
import { OutputFiles } from "../../../runner/src/files/output-files.ts";
import {
  DEFAULT_TIMING,
  type Outcome,
  type ServerInterface,
  type Session,
} from "../../../runner/src/interfaces/interface.ts";
import { CallbackServer } from "../../../runner/src/lib/callback-server.ts";
import { Weights } from "../../../runner/src/weights/weights.ts";
import { untilAborted } from "../../../src/lib/timeout.ts";
import { external } from "../../../src/run/failure.ts";
import {
  fileOptions,
  type JobOptions,
  makeJob,
  record,
  signals,
  silent,
  weightOptions,
} from "./containers.ts";

const imageOf = (name: string) => ({ repository: name, digest: `sha256:${"0".repeat(64)}` });
const modelOf = (name: string) => ({ owner: "test", name, version_number: 1 });
export const warmOf = (name: string, more: JobOptions = {}) => ({
  key: makeJob(imageOf(name), {}, more).keys.container,
  model: `test/${name}:1`,
});

const MACHINE = { memory_bytes: 64e9, cpus: 16 };

class FakeContainer implements RunningContainer {
  readonly address = new URL("http://127.0.0.1:9");
  readonly handle?: ContainerHandle;
  readonly #exit = Promise.withResolvers<Exit>();
  readonly exited = this.#exit.promise;
  /** The options of the start; undefined for an adopted container. */
  readonly #launch: LaunchOptions | undefined;
  forgotten = 0;
  /** Whether the container can open its GPUs. */
  opens: boolean | undefined = true;

  constructor(launch?: LaunchOptions, id?: string) {
    this.#launch = launch;
    if (id !== undefined) this.handle = { id, address: this.address.href };
  }

  get launch(): LaunchOptions {
    if (!this.#launch) throw new Error("it was not started here");
    return this.#launch;
  }

  follow(): () => void {
    return () => {};
  }

  clearLogs(): void {
    this.forgotten += 1;
  }

  async canOpen(): Promise<boolean | undefined> {
    return this.opens;
  }

  async read(): Promise<never> {
    throw external("there are no files in memory");
  }

  exit(description: string): void {
    this.#exit.resolve({ description, logs: "" });
  }

  async stop(): Promise<void> {
    this.exit("was stopped");
  }

  async kill(): Promise<void> {
    this.exit("was killed");
  }
}

/**
 * Returns a pool whose runs end when the test says so; a start that is `held` waits for its release.
 * @param describe returns the descriptions of the containers' servers
 * @param gpus seen by the ledger once it is refreshed
 */
export function world(
  slots: number,
  describe: Session["describe"] = async () => undefined,
  gpus: DeviceSource = new PretendGpus(0),
) {
  const started: FakeContainer[] = [];
  const runs: {
    container: FakeContainer;
    end: (outcome?: Partial<Outcome>) => void;
    fail: (reason: unknown) => void;
  }[] = [];
  let held: Promise<void> | undefined;
  let loading: Promise<void> | undefined;
  let outlivesProcess = false;
  const engine: Engine = {
    noMounts: "it mounts nothing",
    open: async () => ({ url: new URL("http://127.0.0.1:9"), machine: MACHINE }),
    images: async () => [],
    async pull(_image, report) {
      report({ phase: "pulling", progress: 0.5 });
      await held;
      return 1_234;
    },
    async start(launch) {
      const id = outlivesProcess ? `docker-${started.length}` : undefined;
      const container = new FakeContainer(launch, id);
      started.push(container);
      return container;
    },
    adopt({ id }) {
      const container = new FakeContainer(undefined, id);
      started.push(container);
      return container;
    },
    memory: async () => new Map(),
    close: async () => {},
  };
  const server: ServerInterface = {
    environment: () => ({}),
    async connect({ ended }, report, stop) {
      report("loading\n");
      if (loading) await untilAborted(loading, AbortSignal.any([stop, ended]));
      const container = started.at(-1);
      if (!container) throw external("nothing has started");
      return {
        declaresFiles: false,
        stopsOnDisconnect: false,
        run({ stop }) {
          const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
          const end = (outcome: Partial<Outcome> = {}) =>
            resolve({
              finish: { status: "succeeded", output: "none" },
              container: "kept",
              ...outcome,
            });
          const failed = { status: "failed", output: "none" } as const;
          ended.addEventListener("abort", () => end({ finish: failed, container: "retired" }));
          stop.addEventListener("abort", () =>
            end({ finish: { status: "canceled", output: "none" } }),
          );
          runs.push({ container, end, fail: reject });
          return promise;
        },
        describe,
        shutdown: async () => {},
        close() {},
      };
    },
  };
  const ledger = new Ledger({ containers: slots });
  ledger.machine = MACHINE;
  const told: string[][] = [];
  const pool = new ContainerPool(ledger, () => told.push(pool.states().map(({ phase }) => phase)));
  const devices = new DeviceWatch(gpus, ledger, silent, () => pool.devicesChanged());
  const callbackServer = new CallbackServer();
  callbackServer.setBaseUrl(new URL("http://127.0.0.1:9"));
  const controlPlane = new ControlPlane({ url: "http://127.0.0.1:9", token: "ausr_x" });
  const directory = join(tmpdir(), "never-written");
  const inputs = new InputFiles(callbackServer, controlPlane, fileOptions(directory));
  const outputs = new OutputFiles(callbackServer, controlPlane, silent, {
    directory,
    max_file_bytes: 1,
  });
  const weights = new Weights(weightOptions(directory, "http://127.0.0.1:9"), silent);
  const files = { inputs, outputs, weights, tunnels: new Tunnels(callbackServer) };
  const measures = new Measures();
  const parts: RunParts = {
    engine,
    server,
    ...files,
    devices,
    ledger,
    timing: DEFAULT_TIMING,
    measures,
    memory: new MemoryWatch(engine),
    log: silent,
  };
  return {
    /** The phases of all containers, at each change. */
    told,
    ledger,
    devices,
    pool,
    parts,
    measures,
    started,
    runs,
    /** Makes containers that start from now on adoptable by the next process. */
    outliving() {
      outlivesProcess = true;
    },
    /** Makes servers take until the returned function is called to become ready. */
    load() {
      const { promise, resolve } = Promise.withResolvers<void>();
      loading = promise;
      return resolve;
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    run(name: string, more?: JobOptions, stop = signals()) {
      const reporter = record();
      const job = makeJob(imageOf(name), {}, { model: modelOf(name), ...more });
      return { reporter, finish: runJob(pool, parts, job, reporter, stop) };
    },
    /** Reserves a container like a hand-out does. */
    reserve(name: string, stop: string[] = [], more?: JobOptions) {
      const job = makeJob(imageOf(name), {}, { model: modelOf(name), ...more });
      const found = pool.reserve(job, parts, stop);
      const run = (container?: Container) =>
        runJob(pool, parts, job, record(), signals(), container);
      return { found, run };
    },
    running: (count: number) => vi.waitFor(() => expect(runs).toHaveLength(count)),
    /** Closes the pool, and restores the real timers. */
    async close() {
      await pool.close();
      expect(pool.warm()).toEqual([]);
      expect(vi.getTimerCount()).toBe(0);
      vi.useRealTimers();
    },
  };
}

export type World = ReturnType<typeof world>;
