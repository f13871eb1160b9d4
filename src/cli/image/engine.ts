/**
 * The container engine of this machine, by its own command: so it is whichever the user has chosen,
 * Docker Desktop and a remote one included.
 */

import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { messageOf } from "../../../runner/src/lib/error.ts";
import { type ImageConfig, imageConfig } from "../../protocol/oci.ts";
import { CommandEnded, Failure, Misuse } from "../failure.ts";
import { quoted } from "../ui/output.ts";
import { PLATFORM, readArchive, tarEntries } from "./archive.ts";
import type { ImageSource } from "./push-image.ts";

const ENGINES = ["docker", "podman"] as const;
export type EngineName = (typeof ENGINES)[number];

const inspected = z
  .tuple([z.object({ Os: z.string(), Architecture: z.string(), Config: imageConfig.shape.config })])
  .transform(([{ Os, Architecture, Config }]) => {
    return { platform: `${Os}/${Architecture}`, config: Config };
  });

export interface LocalImage {
  /** The platform of the image, as `linux/amd64`. */
  platform: string;
  config: ImageConfig["config"];
}

/** Adds the default tag to a name without a tag or digest: an engine would save all tags of such a name. */
const withTag = (reference: string): string =>
  /[:@][^/]*$|^[0-9a-f]{12,64}$/.test(reference) ? reference : `${reference}:latest`;

export class Engine {
  readonly name: EngineName;
  readonly #signal: AbortSignal;

  /** @param name undefined for the first that answers. @throws Failure */
  static async find(name: string | undefined, signal: AbortSignal): Promise<Engine> {
    const known = ENGINES.find((one) => one === name);
    if (name !== undefined && !known)
      throw new Misuse(`Invalid --engine. Use one of ${ENGINES.join(", ")}.`);
    const candidates = known ? [known] : ENGINES;
    for (const one of candidates)
      if (await answers([one, "version"], signal)) return new Engine(one, signal);
    throw new Failure(
      `Can't connect to ${candidates.join(" or ")}. Install and start Docker or Podman, then run the same command again.`,
    );
  }

  private constructor(name: EngineName, signal: AbortSignal) {
    this.name = name;
    this.#signal = signal;
  }

  /** Builds a folder for the platform of runners. */
  async build(folder: string, tag: string, onText: (text: string) => void): Promise<void> {
    const load = (await this.#hasBuildx()) ? ["--load"] : [];
    const command = [this.name, "build", "--platform", PLATFORM, "--tag", tag, ...load, folder];
    await watched(command, { signal: this.#signal }, onText);
  }

  /** Whether `build` takes `--load`, which its remote and docker-container builders need. */
  async #hasBuildx(): Promise<boolean> {
    if (this.name !== "docker" || process.env.DOCKER_BUILDKIT === "0") return false;
    return answers([this.name, "buildx", "version"], this.#signal);
  }

  /** Moves the image of this tag to another tag, so that an image with the tag was built later. */
  async moveTag(tag: string, to: string): Promise<void> {
    if (!(await answers([this.name, "tag", tag, to], this.#signal))) return;
    await outputOf([this.name, "image", "rm", tag], { signal: this.#signal });
  }

  has(reference: string): Promise<boolean> {
    return answers([this.name, "image", "inspect", reference], this.#signal);
  }

  async pull(reference: string, onText: (text: string) => void): Promise<void> {
    const command = [this.name, "pull", "--platform", PLATFORM, reference];
    await watched(command, { signal: this.#signal }, onText);
  }

  async inspect(reference: string): Promise<LocalImage> {
    const command = [this.name, "image", "inspect", reference];
    return inspected.parse(JSON.parse(await outputOf(command, { signal: this.#signal })));
  }

  /** @throws Failure that says how to build for the right platform */
  async requirePlatform(reference: string): Promise<void> {
    const { platform } = await this.inspect(reference);
    if (platform === PLATFORM) return;
    throw new Failure(
      `${reference} is built for ${platform}, but runners need ${PLATFORM}. Rebuild it with: ${this.name} build --platform ${PLATFORM} --tag ${quoted(reference)} .`,
    );
  }

  /** Reads the image out of the engine. */
  source(reference: string): ImageSource {
    const format = this.name === "podman" ? ["--format", "docker-archive"] : [];
    const command = [this.name, "save", ...format, withTag(reference)];
    return {
      async read(onLarge, signal) {
        const { stdout, ended } = start(command, { signal });
        try {
          const archive = await readArchive(tarEntries(stdout, signal), onLarge);
          await ended;
          return archive;
        } catch (error) {
          signal.throwIfAborted();
          // The engine's own failure says more than that its archive breaks off.
          await ended;
          throw error;
        }
      },
    };
  }
}

/** The most characters of a program's output that an error quotes. */
const MAX_REASON = 2_000;

interface ProgramOptions {
  signal: AbortSignal;
  cwd?: string;
  /** A detached program has a process group of its own, which a terminal's Ctrl+C does not reach. */
  detached?: boolean;
}

/** @returns the standard output. @throws Failure with the standard error */
export async function outputOf(command: string[], options: ProgramOptions): Promise<string> {
  const running = start(command, options);
  const [out] = await Promise.all([text(running.stdout), running.ended]);
  return out.trim();
}

/** Runs a program and shows its output. @throws CommandEnded */
export async function watched(
  command: string[],
  options: ProgramOptions,
  onText: (text: string) => void,
): Promise<void> {
  const { stdout, stderr, ended } = start(command, options);
  for (const stream of [stdout, stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => onText(chunk));
  await ended;
}

interface Running {
  stdout: Readable;
  stderr: Readable;
  /** @throws Failure */
  ended: Promise<void>;
}

export function start([name = "", ...args]: string[], options: ProgramOptions): Running {
  const { signal } = options;
  const child = spawn(name, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-MAX_REASON);
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.on("error", (error) => {
      reject(
        signal.aborted ? signal.reason : new Failure(`Can't run ${name}: ${messageOf(error)}`),
      );
    });
    child.on("close", (code) => {
      if (code === 0) resolve();
      else reject(new CommandEnded(`${name} ${args[0]} failed.\n${said.trim()}`.trim(), 1));
    });
  });
  // A caller may read the output before it awaits `ended`.
  ended.catch(() => {});
  return { stdout: child.stdout, stderr: child.stderr, ended };
}

/** Whether the program exists and answers. */
export async function answers(command: string[], signal: AbortSignal): Promise<boolean> {
  try {
    await outputOf(command, { signal });
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
