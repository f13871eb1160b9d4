/** Creates the executor: engine, callback server, interfaces, files and container pool. */
import { join } from "node:path";
import { untilAborted } from "../../../src/lib/timeout.ts";
import type { ContainerInterface } from "../../../src/protocol/runner.ts";
import type { FileStore } from "../control-plane/client.ts";
import type { DeviceSource } from "../devices/device.ts";
import { DeviceWatch } from "../devices/device-watch.ts";
import { Ledger } from "../devices/ledger.ts";
import { DockerEngine } from "../engines/docker/docker-engine.ts";
import { type Engine, type EnginePredecessor, referenceOf } from "../engines/engine.ts";
import type { EngineOptions } from "../engines/options.ts";
import { ProcessEngine } from "../engines/process/process-engine.ts";
import { type FileOptions, InputFiles } from "../files/input-files.ts";
import { OutputFiles } from "../files/output-files.ts";
import { CogInterface } from "../interfaces/cog/cog.ts";
import { CogWebhooks } from "../interfaces/cog/webhooks.ts";
import { DEFAULT_TIMING, type ServerInterface, type Timing } from "../interfaces/interface.ts";
import { VendoraInterface } from "../interfaces/vendora/vendora.ts";
import type { Executor, JobOrder, RunnableJob, RunReporter, RunSignals } from "../jobs/executor.ts";
import type { Log } from "../lib/log.ts";
import { ONLY_SEAT, type Seat } from "../lib/seat.ts";
import type { Successor } from "../succession/door.ts";
import type { Predecessor } from "../succession/predecessor.ts";
import { type WeightOptions, Weights } from "../weights/weights.ts";
import { CallbackServer } from "./callback-server.ts";
import type { Container } from "./container.ts";
import { Inheritance } from "./inheritance.ts";
import { Measures } from "./measures.ts";
import { MemoryWatch } from "./memory-watch.ts";
import { ContainerPlace } from "./place.ts";
import { ContainerPool } from "./pool.ts";
import { runJob } from "./run-job.ts";
import { type TunnelOptions, Tunnels } from "./tunnels.ts";

/** How often the images on this machine are listed, besides after the first run of an image. */
const IMAGES_INTERVAL_MS = 60_000;

export interface ExecutorOptions {
  /** The runner's name: the label of its containers, by which a later process finds them. */
  name: string;
  slots: number;
  /** How many containers at a time; as many as slots by default. */
  containers?: number;
  engine: EngineOptions;
  /** By default there are none. */
  gpus?: DeviceSource;
  /** The source of input files and the destination of output files. */
  controlPlane: FileStore;
  files: FileOptions;
  weights: WeightOptions;
  log: Log;
  timing?: Partial<Timing>;
  seat?: Seat;
  tunnels?: TunnelOptions;
  /** Between two measurements of the containers' memory. */
  memoryIntervalMs?: number;
}

export function createExecutor(options: ExecutorOptions): Executor {
  const { name, slots, containers = slots, engine: engineOptions, log } = options;
  const { seat = ONLY_SEAT } = options;
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const weights = new Weights(options.weights, log, seat);
  const engine: Engine =
    engineOptions.kind === "docker"
      ? new DockerEngine(name, engineOptions, log, [weights], seat)
      : new ProcessEngine(engineOptions, log, seat);
  const server = new CallbackServer();
  const interfaces: Record<ContainerInterface, ServerInterface> = {
    cog: new CogInterface(new CogWebhooks(server), timing),
    vendora: new VendoraInterface(timing),
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
  const inputs = new InputFiles(server, options.controlPlane, { ...options.files, seat });
  const outputs = new OutputFiles(server, options.controlPlane, log, {
    directory: join(options.files.cache, "outputs"),
    max_file_bytes: options.files.max_file_bytes,
    seat,
  });
  const closed = new AbortController();
  let inheritance: Inheritance | undefined;
  let settled = Promise.resolve();
  let successor: Successor | undefined;
  let images: string[] = [];
  let refreshTimer: NodeJS.Timeout | undefined;

  const refreshImages = async () => {
    try {
      images = await engine.images();
    } catch (error) {
      log.warn("could not list the images on this machine", { error: String(error) });
    }
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

  const inherit = (predecessor: Predecessor) => {
    const found = new Inheritance({
      ledger,
      predecessor,
      server,
      engine,
      inputs,
      log,
      adopt: (handed, lease) => pool.adopt(handed, lease, partsOf(handed)),
      retire: (names) => pool.retire(names),
      onChange: () => executor.onChange(),
    });
    inheritance = found;
    // It is given up when this one ends: the next one does it then.
    settled = found.settled(closed.signal).catch(() => undefined);
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
    async open(predecessor) {
      await outputs.start();
      await inputs.start();
      const before = predecessor && enginePredecessor(predecessor);
      const { url, machine } = await engine.open((host) => server.listen(host), before);
      server.setBaseUrl(url);
      ledger.machine = machine;
      await devices.start();
      logShares(ledger, log);
      if (predecessor) inherit(predecessor);
      if (engine.noMounts === undefined) await weights.start();
      await refreshImages();
      refreshTimer = setInterval(() => void refreshImages(), IMAGES_INTERVAL_MS).unref();
      memory.start();
    },
    settled: () => settled,
    warm: () => pool.warm(),
    images: () => images,
    state: () => ({
      containers: [...(inheritance?.states() ?? []), ...pool.states()],
      devices: ledger.devices(),
      max_containers: containers,
    }),
    measured: () => measures.take(),
    place(job, stop) {
      const found = pool.place(job, partsOf(job), stop);
      if (typeof found === "string") return found;
      const leave = (container: Container) => pool.leave(container, job.limits.idle_seconds);
      return new ContainerPlace({ container: found, run, leave });
    },
    run,
    holdings: () => ({ ports: server.ports, containers: pool.held(), handed: [...pool.handed] }),
    async letThrough(port) {
      await engine.letThrough?.(port === undefined ? server.ports : [...server.ports, port]);
    },
    handOver(to) {
      successor = to;
      engine.succeeded?.();
      server.forwardTo(to);
      pool.handOver(to);
    },
    async close(kill = NEVER) {
      clearInterval(refreshTimer);
      memory.stop();
      devices.stop();
      await pool.handedOver(kill);
      await pool.close();
      closed.abort();
      const isShared = () => successor?.isThere === true || inheritance?.isPending === true;
      // First: the new process lets other ports through than this one's firewall's guard knows.
      if (isShared()) await engine.close(pool.handed);
      if (successor?.isThere) {
        const drained = server.drain();
        successor.released();
        await untilAborted(drained, kill).catch(() => undefined);
      }
      await server.close();
      await outputs.close();
      // Who was there may have gone.
      if (!isShared()) await engine.close();
    },
  };
  return executor;
}

const NEVER = new AbortController().signal;

const enginePredecessor = (predecessor: Predecessor): EnginePredecessor | undefined =>
  predecessor.state && {
    ...predecessor.state,
    held: predecessor.state.containers.flatMap(({ id }) => id ?? []),
    listening: (port) => predecessor.listening(port),
  };

function logShares(ledger: Ledger, log: Log): void {
  if (ledger.devices().length > 0) log.info("resources per GPU", { ...ledger.share(1) });
  log.info("resources of a container without GPUs", { ...ledger.share(0) });
}
