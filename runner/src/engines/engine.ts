/**
 * How a runner gets containers. The life of one:
 *
 * 1. `open`, once per runner: leftovers of an earlier life go, the network is made.
 * 2. `pull`: the image is on the box.
 * 3. `start`: the container runs; whether it is ready is for its interface to find out.
 * 4. `exited` says that it has ended, by itself or by `stop` or `kill`.
 */
import type { Readable } from "node:stream";
import type { Egress } from "../../../src/protocol/egress.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import type { ContainerInterface, Image, Job } from "../../../src/protocol/runner.ts";
import type { Failure } from "../containers/failure.ts";

/** `repository@digest`, as the wire has it. */
export const referenceOf = (image: Image): string => `${image.repository}@${image.digest}`;

/** The image that a version names, and the model whose version that is. */
export interface ImageRequest {
  image: Image;
  model: Pick<Job["model"], "owner" | "name">;
}

export interface LaunchOptions extends ImageRequest {
  interface: ContainerInterface;
  /** What it may reach; an engine that cannot keep it to that does not start it. */
  egress: Egress;
  /** The model's own, from whoever published it. */
  variables: Record<string, string>;
  /** What the interface wants, over those; where to listen comes from the engine. */
  environment: Record<string, string>;
  /** Where what the container puts out as files goes; Cog is told by a flag of its server. */
  uploadUrl: string;
}

/** A file in a container, as it is read. */
export interface ContainerFile {
  content: Readable;
  /** When it was last written, ms since 1970. */
  modifiedMs: number;
}

export interface Exit {
  /** Goes on from "the container": "exited with code 1", "ran out of memory". */
  description: string;
  /** The last it printed since `forget`. */
  logs: string;
  /** Why the engine itself has ended it, if it has. */
  reason?: Failure;
}

export interface RunningContainer {
  /** Where the runner reaches its port. */
  readonly address: URL;
  readonly exited: Promise<Exit>;
  /** Tells what it prints, from its beginning on, until the result is called. */
  follow(listener: (text: string) => void): () => void;
  /** What it has printed so far is somebody else's, and not for the logs of the exit. */
  clearLogs(): void;
  /** Opens one of its files. Rejects with a Failure when there is none, or none that may be read. */
  read(path: string): Promise<ContainerFile>;
  /** Asks it to end, and kills it after the grace, ms. Resolves when it is gone. */
  stop(graceMs: number): Promise<void>;
  /** Resolves when it is gone. */
  kill(): Promise<void>;
}

export type ReportProgress = (progress: SetupProgress) => void;

export interface Engine {
  /**
   * Removes leftovers and prepares the network. `listen` opens the runner's webhook receiver on
   * the address it is given and returns the port; the result is the URL by which containers reach
   * it, and nothing else of this machine.
   */
  open(listen: (host: string) => Promise<number>): Promise<URL>;
  /** `repository@digest` of the images on the box. */
  images(): Promise<string[]>;
  /** @returns the bytes of the image, unpacked */
  pull(request: ImageRequest, report: ReportProgress, signal: AbortSignal): Promise<number>;
  start(options: LaunchOptions, signal: AbortSignal): Promise<RunningContainer>;
  /** Undoes `open`, once all containers are gone. */
  close(): Promise<void>;
}
