/** Creates the executor: engine, callback server, interfaces, files and container pool. */
import { join } from "node:path";
import type { ContainerInterface } from "../../../src/protocol/runner.ts";
import { type Disks, diskUse } from "../../../src/protocol/runner-state.ts";
import type { RunReporter } from "../../../src/run/run-reporter.ts";
import type { FileStore } from "../control-plane/client.ts";
import type { DeviceSource } from "../devices/device.ts";
import { DeviceWatch } from "../devices/device-watch.ts";
import type { GpuMeter } from "../devices/gpu-meter.ts";
import { Ledger } from "../devices/ledger.ts";
import { diskUsage } from "../disk/disk-space.ts";
import { DockerEngine } from "../engines/docker/docker-engine.ts";
import { type Engine, referenceOf } from "../engines/engine.ts";
import type { EngineOptions } from "../engines/options.ts";
import { ProcessEngine } from "../engines/process/process-engine.ts";
import { type FileOptions, InputFiles } from "../files/input-files.ts";
import { OutputFiles } from "../files/output-files.ts";
import { CogInterface } from "../interfaces/cog/cog.ts";
import { CogWebhooks } from "../interfaces/cog/webhooks.ts";
import { DEFAULT_TIMING, type ServerInterface, type Timing } from "../interfaces/interface.ts";
import { OpenAiInterface } from "../interfaces/openai/openai.ts";
import type { Executor, JobOrder, Reservation, RunnableJob, RunSignals } from "../jobs/executor.ts";
import { CallbackServer } from "../lib/callback-server.ts";
import type { Log } from "../lib/log.ts";
import { repeat } from "../lib/repeat.ts";
import { type WeightOptions, Weights } from "../weights/weights.ts";
import { type LeftContainers, takeLeft, writeLeft } from "./adoption.ts";
import type { Container } from "./container.ts";
import { MemoryWatch } from "./memory-watch.ts";
import { ContainerPool } from "./pool.ts";
import { runJob } from "./run-job.ts";
import { type TunnelOptions, Tunnels } from "./tunnels.ts";
import { Measures } from "./usage.ts";

/** How often the images on this machine are listed, besides after the first run of an image. */
const IMAGES_INTERVAL_MS = 60_000;
const DISKS_INTERVAL_MS = 10_000;

export interface ExecutorOptions {
  /** The runner's name, which labels its containers so that a later process finds them. */
  name: string;
  slots: number;
  /** How many containers at a time; as many as slots by default. */
  containers?: number;
  engine: EngineOptions;
  /** The machine has no GPUs by default. */
  gpus?: DeviceSource;
  meter?: Pick<GpuMeter, "readings">;
  /** The source of input files and the destination of output files. */
  controlPlane: FileStore;
  files: FileOptions;
  weights: WeightOptions;
  log: Log;
  timing?: Partial<Timing>;
  /** The folder in which a reload describes the containers that it leaves, and the hash of their settings. */
  adoption?: { folder: string; settings: string };
  tunnels?: TunnelOptions;
  /** The pause between two measurements of the containers' memory. */
  memoryIntervalMs?: number;
}

export function createExecutor(options: ExecutorOptions): Executor {
  const { name, slots, containers = slots, engine: engineOptions, log } = options;
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const weights = new Weights(options.weights, log);
  const engine: Engine =
    engineOptions.kind === "docker"
      ? new DockerEngine(name, engineOptions, log, [weights])
      : new ProcessEngine(engineOptions, log);
  const server = new CallbackServer();
  const interfaces: Record<ContainerInterface, ServerInterface> = {
    cog: new CogInterface(new CogWebhooks(server), timing),
    vendora: new OpenAiInterface(timing),
  };
  const allowed = engineOptions.kind === "process" || engineOptions.sandbox?.egress !== false;
  const tunnels = new Tunnels(server, { allowed, ...options.tunnels });
  const measures = new Measures();
  const memory = new MemoryWatch(engine, options.memoryIntervalMs);
  const sandbox = engineOptions.kind === "docker" ? engineOptions.sandbox : {};
  const ledger = new Ledger({ containers, ...sandbox });
  const pool = new ContainerPool(ledger, () => executor.onChange());
  const source = options.gpus ?? { list: async () => [] };
  const devices = new DeviceWatch(source, ledger, log, () => pool.devicesChanged());
  const inputs = new InputFiles(server, options.controlPlane, options.files);
  const outputs = new OutputFiles(server, options.controlPlane, log, {
    directory: join(options.files.cache, "outputs"),
    max_file_bytes: options.files.max_file_bytes,
  });
  let images: string[] = [];
  let refreshTimer: NodeJS.Timeout | undefined;
  let disks: Disks = {};
  let endDisks = () => {};

  const refreshImages = async () => {
    try {
      images = await engine.images();
    } catch (error) {
      log.warn("could not list the images on this machine", { error: String(error) });
    }
  };

  const readDisks = async () => {
    const [data, images] = await Promise.all([
      diskUsage([options.files.cache, weights.folder]).catch(() => undefined),
      engine.imageDisk?.().catch(() => undefined),
    ]);
    // The pool would refuse the whole report because of a file system without a size.
    const told = (use: typeof data) => diskUse.safeParse(use).data;
    disks = { data: told(data), images: told(images) };
  };

  const partsOf = ({ interface: kind }: Pick<JobOrder, "interface">) => ({
    engine,
    weights,
    server: interfaces[kind],
    inputs,
    outputs,
    tunnels,
    devices,
    ledger,
    timing,
    measures,
    memory,
    log,
  });

  /** Leaves idle containers for the next process. @returns the names of those that are left */
  const leave = async (): Promise<string[]> => {
    const left = options.adoption && engine.adopt ? pool.left() : [];
    if (!options.adoption || left.length === 0) return [];
    const { folder, settings } = options.adoption;
    const { port } = server;
    return writeLeft(folder, { settings, port, containers: left }).then(
      () => left.map(({ name }) => name),
      (error: unknown) => {
        log.error("could not hand over idle containers to the next process", {
          error: String(error),
        });
        return [];
      },
    );
  };

  const run = async (
    job: RunnableJob,
    reporter: RunReporter,
    signals: RunSignals,
    placed?: Container,
  ) => {
    const finish = await runJob(pool, partsOf(job), job, reporter, signals, placed);
    if (!images.includes(referenceOf(job.image))) void refreshImages();
    return finish;
  };

  const executor: Executor = {
    onChange() {},
    async open() {
      await outputs.start();
      await inputs.start();
      let left: LeftContainers | undefined;
      if (options.adoption)
        left = await takeLeft(options.adoption.folder, options.adoption.settings);
      const listen = (host: string) => server.listen(host, left?.port);
      const { url, machine, kept = [] } = await engine.open(listen, left);
      server.setBaseUrl(url);
      ledger.machine = machine;
      await devices.start();
      logShares(ledger, log);
      const adopted = left?.containers.filter(({ handle }) => kept.includes(handle.id)) ?? [];
      const folders = adopted.flatMap(({ weights_folder }) => weights_folder ?? []);
      if (engine.noMounts === undefined) await weights.start(folders);
      for (const one of adopted) pool.adopt(one, partsOf(one));
      if (left) log.info("adopted idle containers", { count: adopted.length });
      await Promise.all([refreshImages(), readDisks()]);
      endDisks = repeat(DISKS_INTERVAL_MS, readDisks);
      refreshTimer = setInterval(() => void refreshImages(), IMAGES_INTERVAL_MS).unref();
      memory.start();
    },
    warm: () => pool.warm(),
    images: () => images,
    state: () => ({
      containers: pool.states(),
      devices: ledger.devices().map((one) => ({
        ...one,
        ...options.meter?.readings.get(one.id),
      })),
      disks,
      max_containers: containers,
    }),
    serving: () => pool.serving(),
    async storage() {
      const [images, kept] = await Promise.all([
        engine.imageBytes?.().catch(() => undefined),
        weights.evictables(),
        readDisks(),
      ]);
      const weightBytes = kept.reduce((sum, { size }) => sum + size, 0);
      return { disks, caches: { images, weights: weightBytes, inputs: inputs.bytes } };
    },
    measured: () => measures.take(),
    reserve(job, stop) {
      const found = pool.reserve(job, partsOf(job), stop);
      if (typeof found === "string") return found;
      const leave = (container: Container) => pool.leave(container, job.limits.idle_seconds);
      return new ContainerReservation({ container: found, run, leave });
    },
    run,
    keep: (names, known) => pool.claim(names, known),
    async close({ leavesIdle = false } = {}) {
      clearInterval(refreshTimer);
      endDisks();
      memory.stop();
      devices.stop();
      const left = leavesIdle ? await leave() : [];
      await pool.close(left);
      await server.close();
      await outputs.close();
      await engine.close(left.length > 0);
    },
  };
  return executor;
}

function logShares(ledger: Ledger, log: Log): void {
  if (ledger.devices().length > 0) log.info("resources per GPU", { ...ledger.share(1) });
  log.info("resources of a container without GPUs", { ...ledger.share(0) });
}

/** A job's reservation in a container from the hand-out on: the job's run uses it, or it is given up. */
interface ContainerReservationOptions {
  /** The container that the job has joined; undefined if a container is about to have room. */
  container: Container | undefined;
  run: (
    ...run: [...Parameters<Reservation["run"]>, container: Container | undefined]
  ) => ReturnType<Reservation["run"]>;
  leave: (container: Container) => void;
}

class ContainerReservation implements Reservation {
  readonly #options: ContainerReservationOptions;
  #container: Container | undefined;

  constructor(options: ContainerReservationOptions) {
    this.#options = options;
    this.#container = options.container;
  }

  run: Reservation["run"] = (job, reporter, signals) =>
    this.#options.run(job, reporter, signals, this.#take());

  leave(): void {
    const container = this.#take();
    if (container) this.#options.leave(container);
  }

  #take(): Container | undefined {
    const container = this.#container;
    this.#container = undefined;
    return container;
  }
}
