/**
 * The process engine runs a model folder directly, for machines without Docker. It isolates nothing: a model
 * can do anything that the runner's user can, also to other models. It only ensures that an account's model
 * folder does not run for another account.
 */
import type { ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { constants } from "node:fs";
import { open, realpath, rm } from "node:fs/promises";
import { createServer } from "node:net";
import os from "node:os";
import { delimiter, dirname, join, sep } from "node:path";
import { settlesWithin } from "../../../../src/lib/timeout.ts";
import { external, internal, ofMachine } from "../../../../src/run/failure.ts";
import type { Device } from "../../devices/device.ts";
import type { ContainerFile } from "../../files/output-references.ts";
import type { Listening } from "../../interfaces/listen-watch.ts";
import { reasonOf } from "../../lib/error.ts";
import type { Log } from "../../lib/log.ts";
import { OfRun } from "../../lib/log-ring.ts";
import { ScratchFolders } from "../../lib/scratch.ts";
import {
  type Engine,
  type Exit,
  exitText,
  type ImageRequest,
  type LaunchOptions,
  type OpenEngine,
  type RunningContainer,
  referenceOf,
} from "../engine.ts";
import { addressesOfProcesses, listeningOf, listenVariables } from "../listen-address.ts";
import { LogTail } from "../log-tail.ts";
import type { ProcessOptions } from "../options.ts";
import { findModel, type Manifest, type ModelFolder } from "./model-folder.ts";
import { PidFiles, processesOf, residentMemory, signalGroup, spawnGroup } from "./process-group.ts";

/** The warning to operators, shown wherever they can choose the process engine. */
export const NO_ISOLATION =
  "the process engine provides no isolation: every model runs as this user and can read its files and other models' data. Use it for trusted models, on laptops and in tests. Otherwise, use --engine docker";

const EGRESS_NOT_ENFORCED =
  "the version limits what its containers can reach (configuration.egress), which this " +
  "runner cannot enforce with the process engine: run it with --engine docker, or publish " +
  'a version with the egress "public"';

const NO_MOUNTS =
  "the version has weights outside its image (configuration.weights), which the process engine " +
  "cannot mount: run it with --engine docker, " +
  "or put the weights into the model's folder";

/** How long the output of a process that has exited is still read. */
const LAST_OUTPUT_MS = 500;

const LOOPBACK = "127.0.0.1";

export class ProcessEngine implements Engine {
  readonly noMounts = NO_MOUNTS;
  readonly #models: string;
  readonly #pidFiles: PidFiles;
  /** Contains a temporary folder per process, which is removed when the process has ended. */
  readonly #tmpDirectory: ScratchFolders;
  readonly #log: Log;
  readonly #ports = new FreePorts(LOOPBACK);
  /** A folder has no repository, so these are the references that jobs have used. */
  readonly #used = new Map<string, ImageRequest>();
  /** With the pid of its process group. */
  readonly #running = new Map<RunningContainer, number>();

  constructor(options: ProcessOptions, log: Log) {
    this.#models = options.models;
    this.#pidFiles = new PidFiles(join(options.state, "processes"));
    this.#tmpDirectory = new ScratchFolders(join(options.state, "tmp"));
    this.#log = log;
  }

  async open(listen: (host: string) => Promise<number>): Promise<OpenEngine> {
    this.#log.warn(NO_ISOLATION);
    const swept = await this.#pidFiles.sweep();
    if (swept.length > 0)
      this.#log.warn("ended models of an earlier runner process", { pids: swept.join(" ") });
    await this.#tmpDirectory.sweep();
    const url = new URL(`http://${LOOPBACK}:${await listen(LOOPBACK)}`);
    return { url, machine: { memory_bytes: os.totalmem(), cpus: os.availableParallelism() } };
  }

  async images(): Promise<string[]> {
    const names: string[] = [];
    for (const [name, { image, model }] of this.#used) {
      const folder = await findModel(this.#models, model);
      if (folder?.digest === image.digest) names.push(name);
    }
    return names;
  }

  async pull(request: ImageRequest): Promise<number> {
    const { bytes } = await this.#requireModel(request);
    this.#used.set(referenceOf(request.image), request);
    return bytes;
  }

  async start(options: LaunchOptions): Promise<RunningContainer> {
    const { variables, environment, lease, interface: kind } = options;
    if (options.egress !== "public") throw internal(EGRESS_NOT_ENFORCED);
    const folder = await this.#requireModel(options);
    const { manifest } = folder;
    // The model sees its folder by this path, with symbolic links resolved.
    const directory = await realpath(folder.directory);
    const port = await this.#ports.take();
    const tmpDirectory = await this.#tmpDirectory.make();
    const child = spawnGroup({
      command: manifest.command,
      directory,
      environment: {
        ...declaredVariables(variables, manifest),
        ...environment,
        ...visibleGpus(lease.gpus),
        // The runner's own `node` comes last, for machines without another.
        PATH: [process.env.PATH, dirname(process.execPath)].join(delimiter),
        HOME: process.env.HOME ?? directory,
        ...listenVariables(kind, LOOPBACK, port),
        TMPDIR: tmpDirectory,
      },
    });
    const addresses = async () => addressesOfProcesses(await processesOf(child.pid ?? 0));
    const listening = listeningOf(kind, { host: LOOPBACK, port, addresses });
    return this.#watch(child, listening, { directory, tmpDirectory });
  }

  async memory(signal: AbortSignal): Promise<ReadonlyMap<RunningContainer, number>> {
    const running = [...this.#running];
    if (running.length === 0) return new Map();
    const pids = running.map(([, pid]) => pid);
    const used = await residentMemory(pids, signal).catch(() => undefined);
    return new Map(
      running.flatMap(([one, pid]) => {
        const bytes = used?.get(pid);
        return bytes === undefined ? [] : [[one, bytes]];
      }),
    );
  }

  async close(): Promise<void> {}

  /** Finds the model by path and digest: the digest alone would open it to anyone who knows the digest. */
  async #requireModel({ image: { digest }, model }: ImageRequest): Promise<ModelFolder> {
    const folder = await findModel(this.#models, model);
    if (folder?.digest === digest) return folder;
    const name = `${model.owner}/${model.name}`;
    const why = folder
      ? `its folder ${name} does not match this version (${digest}). For an image, publish the version for hardware whose runners have Docker. If the files were changed, publish them as a new version, or restore them`
      : `it has no folder ${name} in its models directory. For an image, publish the version for hardware whose runners have Docker`;
    throw internal(`this runner does not run images (--engine process), and ${why}`, {
      cause: new Error(`looked in ${this.#models}`),
    });
  }

  /**
   * Logs errors only: files that cannot be removed now are removed when the runner starts again, and the exit
   * must be reported anyway.
   */
  async #clean(pid: number, tmpDirectory: string): Promise<void> {
    const work = [this.#pidFiles.remove(pid), rm(tmpDirectory, { recursive: true, force: true })];
    for (const result of await Promise.allSettled(work)) {
      if (result.status === "fulfilled") continue;
      this.#log.warn("could not clean up after a model", {
        error: new OfRun(result.reason),
      });
    }
  }

  async #watch(
    child: ChildProcess,
    listening: Listening,
    folders: Folders,
  ): Promise<RunningContainer> {
    const { directory, tmpDirectory } = folders;
    const tail = new LogTail();
    // Paths of this machine are not shown to others.
    const withoutPaths = (text: string) =>
      text.replaceAll(tmpDirectory, "$TMPDIR").replaceAll(directory, ".");
    child.stdout?.on("data", (chunk: Buffer) => tail.push(chunk));
    child.stderr?.on("data", (chunk: Buffer) => tail.push(chunk));
    await once(child, "spawn");
    const [exit, closed] = [once(child, "exit"), once(child, "close")];
    const { pid } = child;
    if (pid === undefined) throw internal("the process has no pid");
    await this.#pidFiles.add(pid).catch((cause: Error) => {
      signalGroup(pid, "SIGKILL");
      throw ofMachine(`the runner cannot write its pid files: ${reasonOf(cause)}`, { cause });
    });
    const exited = exit.then(async ([code, signal]): Promise<Exit> => {
      // Processes that the model started end with it.
      signalGroup(pid, "SIGKILL");
      child.stdin?.destroy();
      // The model's last output may still arrive. A process that left the group may keep the pipe open.
      await settlesWithin(closed, LAST_OUTPUT_MS);
      await this.#clean(pid, tmpDirectory);
      const description = code === null ? `was ended by ${signal}` : exitText(code);
      return { description, logs: withoutPaths(tail.toString()) };
    });
    const kill = async () => {
      signalGroup(pid, "SIGKILL");
      await exited;
    };
    const running: RunningContainer = {
      address: new URL(`http://${listening.host}:${listening.port}`),
      listening,
      exited,
      follow: (listener) => tail.follow((text) => listener(withoutPaths(text))),
      clearLogs: () => tail.clear(),
      canOpen: async () => undefined,
      read: (path) => openFileIn(tmpDirectory, path),
      kill,
      async stop(graceMs) {
        // The signal goes to the child and not to its group, since the watcher must stay until the end.
        child.kill("SIGTERM");
        if (!(await settlesWithin(exited, graceMs))) await kill();
      },
    };
    this.#running.set(running, pid);
    void exit.then(() => this.#running.delete(running));
    return running;
  }
}

/**
 * CUDA sees only the GPUs of this variable; `-1` means none. Nothing enforces this. NVIDIA's other variable
 * is for containers, and names the same GPUs for programs that read it.
 */
function visibleGpus(gpus: readonly Device[]): Record<string, string> {
  const ids = gpus.map(({ id }) => id).join(",");
  return {
    CUDA_VISIBLE_DEVICES: ids || "-1",
    NVIDIA_VISIBLE_DEVICES: ids || "void",
  };
}

interface Folders {
  directory: string;
  tmpDirectory: string;
}

/**
 * The variables that the folder itself declares. Others could change what runs in it, and whoever
 * publishes it as a version may not be the operator who reviewed it.
 */
function declaredVariables(
  variables: Record<string, string>,
  { configuration: { variable_names } }: Manifest,
): Record<string, string> {
  const names = new Set(variable_names);
  return Object.fromEntries(Object.entries(variables).filter(([name]) => names.has(name)));
}

/**
 * Rejects files outside the folder, also behind symbolic links: a model must not read with the
 * runner's permissions.
 */
async function openFileIn(folder: string, path: string): Promise<ContainerFile> {
  const [root, real] = await Promise.all([realpath(folder), realpath(path).catch(() => undefined)]);
  if (!real?.startsWith(root + sep)) {
    throw external(`${path} in the output is not a file below $TMPDIR`);
  }
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const stat = await handle.stat();
  if (stat.isFile()) return { content: handle.createReadStream(), modifiedMs: stat.mtimeMs };
  await handle.close();
  throw external(`${path} in the output is not a regular file`);
}

/** Ports that are not given again: more than a machine starts servers in a minute. */
const REMEMBERED = 1_000;
const MAX_TRIES = 50;

/**
 * Ports for the servers of models. The system may offer a port again before its server listens: two models
 * that started at once were then mistaken for each other.
 */
export class FreePorts {
  readonly #host: string;
  readonly #find: (host: string) => Promise<number | undefined>;
  /** Oldest first. */
  readonly #given = new Set<number>();

  /** @param find names a port that is free at this moment */
  constructor(host: string, find = freePort) {
    this.#host = host;
    this.#find = find;
  }

  /** @throws Failure when there is none */
  async take(): Promise<number> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const port = await this.#find(this.#host);
      if (port === undefined || this.#given.has(port)) continue;
      this.#given.add(port);
      const [oldest] = this.#given;
      if (this.#given.size > REMEMBERED && oldest !== undefined) this.#given.delete(oldest);
      return port;
    }
    throw ofMachine("no port is free on the runner's machine");
  }
}

/**
 * The ports from which one is drawn: below those that Linux and macOS give to clients, and to servers that accept
 * any. Such a server could take the port before the model listens, and would then be mistaken for it.
 */
const PORTS = [20_000, 30_000] as const;

/** Returns a port that nothing listens on, or undefined when the one that was drawn is in use. */
async function freePort(host: string): Promise<number | undefined> {
  const port = randomInt(...PORTS);
  const server = createServer().listen(port, host);
  try {
    await once(server, "listening");
    return port;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return undefined;
    throw error;
  } finally {
    server.close();
  }
}
