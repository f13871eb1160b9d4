/** A container of the Docker engine, from its start to its removal. */

import { once } from "node:events";
import { pipeline, Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { StringDecoder } from "node:string_decoder";
import type Dockerode from "dockerode";
import { extract } from "tar-stream";
import { z } from "zod";
import { settlesWithin } from "../../../../src/lib/timeout.ts";
import type { ContainerInterface, Image } from "../../../../src/protocol/runner.ts";
import { external, type Failure, internal } from "../../../../src/run/failure.ts";
import type { ContainerFile } from "../../files/output-references.ts";
import type { Log } from "../../lib/log.ts";
import {
  type ContainerHandle,
  type Exit,
  exitText,
  type Left,
  type RunningContainer,
  referenceOf,
} from "../engine.ts";
import { listeningOf } from "../listen-address.ts";
import { ignoreStatus, onceBack } from "./errors.ts";
import { listeningIn } from "./listening-in.ts";

const MAX_LOG_LINES = 50;

export const SHELL = "/bin/sh";

interface StartOptions {
  kind: ContainerInterface;
  port: number;
  /** To be written to its standard input. */
  stdin?: string | undefined;
  setupAdvice?: string | undefined;
}

const STDIN = { stream: true, stdin: true, hijack: true };

export class DockerContainer implements RunningContainer {
  readonly address: URL;
  readonly exited: Promise<Exit>;
  readonly listening: RunningContainer["listening"];
  readonly setupAdvice: string | undefined;
  readonly #container: Dockerode.Container;
  /** Seconds since the epoch. */
  #logsSince = 0;
  #reason: Failure | undefined;

  static adopt(container: Dockerode.Container, address: URL): DockerContainer {
    return new DockerContainer(container, address);
  }

  /** Leaves nothing behind if it fails or is aborted. */
  static async start(container: Dockerode.Container, options: StartOptions, signal: AbortSignal) {
    const { kind, port, stdin, setupAdvice } = options;
    try {
      const input = stdin === undefined ? undefined : await container.attach(STDIN);
      await container.start();
      // The write fails if the container has exited meanwhile: its exit says why.
      input?.on("error", () => {}).end(stdin ?? "");
      signal.throwIfAborted();
      const { NetworkSettings } = await container.inspect();
      const published = NetworkSettings.Ports[`${port}/tcp`]?.[0]?.HostPort;
      // A container that exited at once has no port; its exit says why.
      const address = new URL(`http://127.0.0.1:${published ?? 9}`);
      const addresses = () => listeningIn(container);
      const listening = listeningOf(kind, { host: "0.0.0.0", port, addresses });
      return new DockerContainer(container, address, { listening, setupAdvice });
    } catch (error) {
      await container.remove({ force: true, v: true });
      throw error;
    }
  }

  private constructor(
    container: Dockerode.Container,
    address: URL,
    { listening, setupAdvice }: Pick<RunningContainer, "listening" | "setupAdvice"> = {},
  ) {
    this.#container = container;
    this.address = address;
    this.listening = listening;
    this.setupAdvice = setupAdvice;
    this.exited = onceBack(() => this.#watch()).catch((cause: Error) => ({
      description: "could not be monitored",
      logs: "",
      reason: this.#reason ?? internal("Docker could not monitor the container", { cause }),
    }));
  }

  get handle(): ContainerHandle {
    return { id: this.#container.id, address: this.address.href };
  }

  follow(listener: (text: string) => void): () => void {
    const end = new AbortController();
    // The logs end with an error if the container has ended: its exit says why.
    this.#follow(listener, end.signal).catch(() => {});
    return () => end.abort();
  }

  clearLogs(): void {
    this.#logsSince = Date.now() / 1_000;
  }

  async read(path: string): Promise<ContainerFile> {
    // 400: not a valid path.
    const archive = await ignoreStatus([400, 404], this.#container.getArchive({ path }));
    if (!archive) throw external(`the container has no file ${path}`);
    return extractFile(archive, path);
  }

  canOpen(device: string): Promise<boolean | undefined> {
    return canOpen(this.#container, device);
  }

  /** Bytes of RAM. */
  memory(signal: AbortSignal): Promise<number> {
    return usedMemory(this.#container, signal);
  }

  async stop(graceMs: number): Promise<void> {
    const t = Math.ceil(graceMs / 1_000);
    await onceBack(() => ignoreStatus([304, 404], this.#container.stop({ t })));
    await this.exited;
  }

  async kill(): Promise<void> {
    // Status 409: the container is no longer running, or is being removed.
    await onceBack(() => ignoreStatus([404, 409], this.#container.kill()));
    await this.exited;
  }

  /** Kills the container because of a violation, or because of a change on this machine. */
  async killFor(reason: Failure): Promise<void> {
    this.#reason ??= reason;
    await this.kill();
  }

  async #follow(listener: (text: string) => void, abortSignal: AbortSignal): Promise<void> {
    const options = { stdout: true, stderr: true, follow: true } as const;
    const frames = await this.#container.logs({ ...options, abortSignal });
    frames.on("error", () => {});
    const decoded = () => {
      const decoder = new StringDecoder();
      return new Writable({
        write(chunk: Buffer, _encoding, done) {
          const text = decoder.write(chunk);
          if (text && !abortSignal.aborted) listener(text);
          done();
        },
      });
    };
    this.#container.modem.demuxStream(frames, decoded(), decoded());
  }

  async #watch(): Promise<Exit> {
    await ignoreStatus([404], waitForExit(this.#container));
    const logs = await this.#lastLogs();
    const description = await this.#description();
    await ignoreStatus([404, 409], this.#container.remove({ force: true, v: true }));
    return { description, logs, ...this.#because };
  }

  get #because(): Pick<Exit, "reason"> {
    return this.#reason ? { reason: this.#reason } : {};
  }

  async #description(): Promise<string> {
    const facts = await ignoreStatus([404], this.#container.inspect());
    if (!facts) return "was removed by another program";
    if (facts.State.OOMKilled) return "ran out of memory";
    return exitText(facts.State.ExitCode);
  }

  async #lastLogs(): Promise<string> {
    const options = { stdout: true, stderr: true, tail: MAX_LOG_LINES, since: this.#logsSince };
    const logs = this.#container.logs({ ...options, follow: false });
    const frames = await ignoreStatus([404, 409], logs);
    return frames ? demuxLogs(frames) : "";
  }
}

/** Removes Docker's 8-byte frame headers: the stream, and from byte 4 the length. */
function demuxLogs(frames: Buffer): string {
  const pieces: Buffer[] = [];
  for (let at = 0; at + 8 <= frames.length; ) {
    const end = at + 8 + frames.readUInt32BE(at + 4);
    pieces.push(frames.subarray(at + 8, end));
    at = end;
  }
  return Buffer.concat(pieces).toString().trimEnd();
}

/** @throws when the container is gone, with Docker's status; when Docker is */
async function waitForExit({ id, modem }: Dockerode.Container): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const request = {
    path: `/containers/${id}/wait`,
    method: "POST",
    isStream: true,
    statusCodes: { 200: true, 404: "no such container", 500: "server error" },
  };
  modem.dial(request, (error: unknown, body: unknown) => (error ? reject(error) : resolve(body)));
  const body = await promise;
  if (body instanceof Readable) await text(body);
}

/** The exit code of SCRIPT if the container may not open the device file. */
const REFUSED = 3;

/** SCRIPT opens the file in a second shell: a shell ends if a redirection fails. The file may be missing. */
const SCRIPT = `[ -e "$0" ] || exit 0; (: <"$0") 2>/dev/null && exit 0; exit ${REFUSED}`;

const ANSWER_MS = 5_000;

/**
 * Opens a device file with a shell in the container, because Docker does not tell which devices a container
 * may open.
 * @returns undefined if the image has no shell, or the container has ended
 */
async function canOpen(
  container: Dockerode.Container,
  device: string,
): Promise<boolean | undefined> {
  try {
    const Cmd = [SHELL, "-c", SCRIPT, device];
    const exec = await container.exec({ Cmd, AttachStdout: true });
    const output = await exec.start({});
    const end = once(output.resume(), "end");
    if (!(await settlesWithin(end, ANSWER_MS))) return undefined;
    const { ExitCode } = await exec.inspect();
    return ExitCode === 0 ? true : ExitCode === REFUSED ? false : undefined;
  } catch {
    return undefined;
  }
}

/** NOW skips a second measurement, which only the use of processors needs. */
const NOW = { stream: false, "one-shot": true } as const;

const measured = z.object({
  memory_stats: z.object({
    usage: z.number(),
    /** Memory of the file cache, which the kernel frees when memory is short: names of cgroups v1 and v2. */
    stats: z.object({
      total_inactive_file: z.number().optional(),
      inactive_file: z.number().default(0),
    }),
  }),
});

/** @throws if Docker does not say it before the signal, as of a container that has ended */
export async function usedMemory(
  container: Dockerode.Container,
  abortSignal: AbortSignal,
): Promise<number> {
  const options = { ...NOW, abortSignal };
  const { memory_stats } = measured.parse(await container.stats(options));
  const { total_inactive_file, inactive_file } = memory_stats.stats;
  return memory_stats.usage - (total_inactive_file ?? inactive_file);
}

/**
 * Rejects with a Failure if the first entry is not a regular file. The content throws if the
 * archive ends early; destroying it ends the archive.
 */
export function extractFile(archive: NodeJS.ReadableStream, path: string): Promise<ContainerFile> {
  const { promise, resolve, reject } = Promise.withResolvers<ContainerFile>();
  const unpacked = extract();
  unpacked.on("entry", ({ type, mtime }, entry) => {
    if (type === "file") {
      // Readable.from keeps errors until somebody reads.
      return resolve({ content: Readable.from(entry), modifiedMs: mtime.getTime() });
    }
    reject(external(`${path} in the output is not a regular file`));
    unpacked.destroy();
  });
  pipeline(archive, unpacked, (error) => {
    reject(error ?? external(`${path} in the output is not a file`));
  });
  return promise;
}

const RUNNER_LABEL = "auspex.runner";
/** The label's value is the image with its digest. */
const IMAGE_LABEL = "auspex.image";

/** Finds the containers of a runner by their labels, and removes those that no process adopts. */
export class Leftovers {
  readonly #docker: Dockerode;
  readonly #runner: string;
  readonly #log: Log;

  constructor(docker: Dockerode, runner: string, log: Log) {
    this.#docker = docker;
    this.#runner = runner;
    this.#log = log;
  }

  /** The labels of a new container; Docker prefers them to labels of the same name in its image. */
  labels(image: Image): Record<string, string> {
    return { [RUNNER_LABEL]: this.#runner, [IMAGE_LABEL]: referenceOf(image) };
  }

  /**
   * Removes the runner's containers.
   * @param left containers to spare, if they still run the same image at the same port
   * @returns the IDs of the spared ones
   */
  async sweep(left: Left["containers"] = []): Promise<string[]> {
    const kept: string[] = [];
    const filters = { label: [`${RUNNER_LABEL}=${this.#runner}`] };
    for (const container of await this.#docker.listContainers({ all: true, filters })) {
      const { Id } = container;
      if (left.some((one) => isUnchanged(one, container))) kept.push(Id);
      else {
        this.#log.warn("removing a container of an earlier runner process", {
          container: Id.slice(0, 12),
        });
        await ignoreStatus([404], this.#docker.getContainer(Id).remove({ force: true, v: true }));
      }
    }
    return kept;
  }
}

const isUnchanged = (
  { handle, image }: Left["containers"][number],
  { Id, State, Labels, Ports }: Dockerode.ContainerInfo,
): boolean =>
  Id === handle.id &&
  State === "running" &&
  Labels[IMAGE_LABEL] === referenceOf(image) &&
  Ports.some(({ PublicPort }) => String(PublicPort) === new URL(handle.address).port);
