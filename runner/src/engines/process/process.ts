/**
 * The process engine: runs a model folder directly, for machines without Docker. It isolates
 * nothing: a model may do whatever the runner's user may, to other models too. That the folder of
 * one account's model does not run for another's is all that it sees to.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { realpath, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { internal } from "../../containers/failure.ts";
import { messageOf, reasonOf } from "../../control-plane/error.ts";
import type { Log } from "../../lib/log.ts";
import { ScratchFolders } from "../../lib/scratch.ts";
import { within } from "../../lib/wait.ts";
import {
  type Engine,
  type Exit,
  type Launch,
  type RunningContainer,
  referenceOf,
  type Wanted,
} from "../engine.ts";
import { listening } from "../listening.ts";
import type { ProcessOptions } from "../options.ts";
import { Tail } from "../tail.ts";
import { openBelow } from "./file.ts";
import { findModel, type Manifest, type ModelFolder } from "./model-folder.ts";
import { PidFiles } from "./pidfile.ts";
import { signalGroup, spawnGroup } from "./process-group.ts";

/** What an operator is told of it, wherever it is chosen. */
export const UNISOLATED =
  "the process engine isolates nothing: every model runs as this user, and can read its files and whatever other models work on. Use it for models that you trust, on laptops and in tests, and --engine docker for all else";

const UNKEPT =
  "the version says what its containers may reach (configuration.egress), and a model that this " +
  "runner starts as a process reaches all that its machine does: its operator serves this hardware " +
  'with --engine docker, or the version says "public"';

const LOOPBACK = "127.0.0.1";

export class ProcessEngine implements Engine {
  readonly #models: string;
  readonly #pidFiles: PidFiles;
  /** A folder in it for each process: what it writes there is its own, and goes with it. */
  readonly #temporary: ScratchFolders;
  readonly #log: Log;
  /** A folder has no repository of its own, so these are the references that jobs have used. */
  readonly #used = new Map<string, Wanted>();

  constructor(options: ProcessOptions, log: Log) {
    this.#models = options.models;
    this.#pidFiles = new PidFiles(join(options.state, "processes"));
    this.#temporary = new ScratchFolders(join(options.state, "tmp"));
    this.#log = log;
  }

  async open(listen: (host: string) => Promise<number>): Promise<URL> {
    this.#log.warn(UNISOLATED);
    const swept = await this.#pidFiles.sweep();
    if (swept.length > 0)
      this.#log.warn("ended models of an earlier runner", { pids: swept.join(" ") });
    await this.#temporary.sweep();
    return new URL(`http://${LOOPBACK}:${await listen(LOOPBACK)}`);
  }

  async images(): Promise<string[]> {
    const names: string[] = [];
    for (const [name, { image, model }] of this.#used) {
      const found = await findModel(this.#models, model);
      if (found?.digest === image.digest) names.push(name);
    }
    return names;
  }

  async pull(wanted: Wanted): Promise<number> {
    const { bytes } = await this.#find(wanted);
    this.#used.set(referenceOf(wanted.image), wanted);
    return bytes;
  }

  async start(launch: Launch): Promise<RunningContainer> {
    const { variables, environment, interface: kind } = launch;
    if (launch.egress !== "public") throw internal(UNKEPT);
    const found = await this.#find(launch);
    const { manifest } = found;
    // A model knows its folder by this name, whatever links lead there.
    const directory = await realpath(found.directory);
    const port = await freePort();
    const temporary = await this.#temporary.make();
    const child = spawnGroup({
      command: manifest.command,
      directory,
      environment: {
        ...named(variables, manifest),
        ...environment,
        // Last, the runner's own `node`, for machines where none is installed.
        PATH: [process.env.PATH, dirname(process.execPath)].join(delimiter),
        HOME: process.env.HOME ?? directory,
        ...listening(kind, LOOPBACK, port),
        TMPDIR: temporary,
      },
    });
    return this.#watch(child, new URL(`http://${LOOPBACK}:${port}`), { directory, temporary });
  }

  async close(): Promise<void> {}

  /** By its place and its digest: the digest alone would do for whoever has come to know it. */
  async #find({ image: { digest }, model }: Wanted): Promise<ModelFolder> {
    const found = await findModel(this.#models, model);
    if (found?.digest === digest) return found;
    const name = `${model.owner}/${model.name}`;
    const why = found
      ? `the files of ${name} on the runner's machine are not those of this version, whose digest is ${digest}: publish them as a version, or put them back`
      : `the runner's machine has no files of ${name}: its operator puts them where --models says, in a folder ${name}`;
    throw internal(why, { cause: new Error(`looked in ${this.#models}`) });
  }

  /** What cannot be removed now goes when the runner starts again: the exit is to be told anyway. */
  async #clean(pid: number, temporary: string): Promise<void> {
    const work = [this.#pidFiles.remove(pid), rm(temporary, { recursive: true, force: true })];
    for (const result of await Promise.allSettled(work)) {
      if (result.status === "fulfilled") continue;
      this.#log.warn("a model has left something", { error: messageOf(result.reason) });
    }
  }

  async #watch(child: ChildProcess, address: URL, folders: Folders): Promise<RunningContainer> {
    const { directory, temporary } = folders;
    const tail = new Tail();
    // Where on this machine the model lies is nobody else's business.
    const told = (text: string) => text.replaceAll(temporary, "$TMPDIR").replaceAll(directory, ".");
    child.stdout?.on("data", (chunk: Buffer) => tail.push(chunk));
    child.stderr?.on("data", (chunk: Buffer) => tail.push(chunk));
    await once(child, "spawn");
    const [exit, closed] = [once(child, "exit"), once(child, "close")];
    const { pid } = child;
    if (pid === undefined) throw internal("a process without a pid");
    await this.#pidFiles.add(pid).catch((cause: Error) => {
      signalGroup(pid, "SIGKILL");
      throw internal(`the runner cannot keep its processes' ids: ${reasonOf(cause)}`, { cause });
    });
    const exited = exit.then(async ([code, signal]): Promise<Exit> => {
      // What the model started itself goes with it.
      signalGroup(pid, "SIGKILL");
      child.stdin?.destroy();
      // Its last words; a process that left the group may hold the pipe open for ever.
      await within(500, closed);
      await this.#clean(pid, temporary);
      const description = code === null ? `was ended by ${signal}` : `exited with code ${code}`;
      return { description, logs: told(tail.toString()) };
    });
    const kill = async () => {
      signalGroup(pid, "SIGKILL");
      await exited;
    };
    return {
      address,
      exited,
      follow: (listener) => tail.follow((text) => listener(told(text))),
      forget: () => tail.clear(),
      read: (path) => openBelow(temporary, path),
      kill,
      async stop(grace) {
        // Not to the group: what watches over it must stay until the end.
        child.kill("SIGTERM");
        if (!(await within(grace, exited))) await kill();
      },
    };
  }
}

/** The model's, and the one for what it writes. */
interface Folders {
  directory: string;
  temporary: string;
}

/**
 * Those that the folder itself asks for. Any other could change what runs in it, and whoever
 * publishes it as a version is not its operator, who has looked at it.
 */
function named(
  variables: Record<string, string>,
  { configuration: { variable_names } }: Manifest,
): Record<string, string> {
  const names = new Set(variable_names);
  return Object.fromEntries(Object.entries(variables).filter(([name]) => names.has(name)));
}

/** One that was free a moment ago: the system does not hand it out again soon. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, LOOPBACK);
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw internal("no port is free");
  return address.port;
}
