/**
 * Engines start a runner's containers. The life of a container:
 *
 * 1. `open`, once per process, removes the containers of an earlier process and creates the network.
 * 2. `pull` gets the image.
 * 3. `start` starts the container; its interface finds out when it is ready.
 * 4. `exited` resolves when the container has ended, by itself or by `stop` or `kill`.
 */
import type { Egress } from "../../../src/protocol/egress.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import type { ContainerInterface, Image, Job, JobHardware } from "../../../src/protocol/runner.ts";
import type { DiskUse } from "../../../src/protocol/runner-state.ts";
import { Failure } from "../../../src/run/failure.ts";
import type { Lease } from "../devices/ledger.ts";
import type { Machine } from "../devices/share.ts";
import type { ContainerFile } from "../files/output-references.ts";
import type { Listening } from "../interfaces/listen-watch.ts";

/** `repository@digest`, as in the protocol. */
export const referenceOf = (image: Image): string => `${image.repository}@${image.digest}`;

/** The image was there and was removed to make room, by another runner of the same Docker or by a person. */
export class ImageGone extends Failure {
  constructor(image: Image, options?: { cause: unknown }) {
    const what = referenceOf(image);
    super("internal", `${what} was removed from this machine before it was started`, options);
  }
}

/** The image of a version, and the version's model. */
export interface ImageRequest {
  image: Image;
  model: Pick<Job["model"], "owner" | "name">;
}

/** Something of this machine that a container gets at a path of its own, read-only. */
export interface Mount {
  /** A file or folder. */
  source: string;
  target: string;
}

export interface LaunchOptions extends ImageRequest {
  interface: ContainerInterface;
  hardware: JobHardware;
  /** The hosts that the container may reach. An engine that cannot enforce this does not start it. */
  egress: Egress;
  /** The model's own variables, from its publisher. */
  variables: Record<string, string>;
  /** The interface's variables, which take precedence. The engine adds the listen address. */
  environment: Record<string, string>;
  /** The URL to which the container uploads output files. Cog gets it as a flag of its server. */
  uploadUrl: string;
  /** Weights that are not in the image. */
  mounts: readonly Mount[];
  /** The GPUs that the container gets, and the limits of its other resources. */
  lease: Omit<Lease, "release">;
}

export interface Exit {
  /**
   * Completes a sentence that begins with "the container": "exited with code 1", "ran out of
   * memory".
   */
  description: string;
  /** The container's last output since `clearLogs`. */
  logs: string;
  /** Why the engine ended it, if it did. */
  reason?: Failure;
}

export function exitText(code: number): string {
  const cause = code === 137 ? " (killed, possibly because it ran out of memory)" : "";
  return `exited with code ${code}${cause}`;
}

/** How the next process finds a container. */
export interface ContainerHandle {
  id: string;
  address: string;
}

export interface RunningContainer {
  /** Undefined if the container ends with the process that started it. */
  readonly handle?: ContainerHandle;
  /** The address at which the runner can reach the container's port. */
  readonly address: URL;
  readonly exited: Promise<Exit>;
  /** The address on which the server should listen; undefined if it listens already. */
  readonly listening?: Listening | undefined;
  /** Advice that completes the message if the setup fails. */
  readonly setupAdvice?: string | undefined;
  /** Reports the container's output from its start, until the returned function is called. */
  follow(listener: (text: string) => void): () => void;
  /** Drops the output so far from the logs of the exit, since it belongs to another run. */
  clearLogs(): void;
  /** Opens a file of the container. Rejects with a Failure if it does not exist or may not be read. */
  read(path: string): Promise<ContainerFile>;
  /**
   * Whether the container may open a device file, if it has the file; undefined if this cannot be found out.
   */
  canOpen(device: string): Promise<boolean | undefined>;
  /**
   * Asks the container to stop, and kills it after the grace period. Resolves when the container has ended.
   */
  stop(graceMs: number): Promise<void>;
  /** Resolves when it has ended. */
  kill(): Promise<void>;
}

/** The containers that a reload has left. */
export interface Left {
  /** The port at which they call the runner. */
  port: number;
  containers: readonly { handle: ContainerHandle; image: Image }[];
}

export interface OpenEngine {
  url: URL;
  machine: Machine;
  /** IDs of the containers that can be adopted. */
  kept?: readonly string[];
}

export type ReportProgress = (progress: SetupProgress) => void;

export interface Engine {
  /**
   * Removes what an earlier process left, except containers to adopt, and creates the network. `listen` opens
   * the runner's callback server on the given address and returns its port. Resolves also to the URL by which
   * containers reach the server, the only thing of this machine that they can reach.
   */
  open(listen: (host: string) => Promise<number>, left?: Left): Promise<OpenEngine>;
  /** `repository@digest` of the images on this machine. */
  images(): Promise<string[]>;
  /** The disk with the images. Rejects if it cannot be seen from here. */
  imageDisk?(): Promise<DiskUse>;
  /** Bytes of the images that this runner has pulled. */
  imageBytes?(): Promise<number>;
  /** The reason why the engine cannot mount folders into containers; undefined if it can. */
  readonly noMounts: string | undefined;
  /** @returns the size of the unpacked image in bytes */
  pull(request: ImageRequest, report: ReportProgress, signal: AbortSignal): Promise<number>;
  start(options: LaunchOptions, signal: AbortSignal): Promise<RunningContainer>;
  /** A container that `open` has kept. Undefined if containers end with the process that started them. */
  adopt?(handle: ContainerHandle, image: Image): RunningContainer;
  /**
   * Bytes of RAM that each container uses now, as far as that can be found out before the signal. Never
   * rejects.
   */
  memory(signal: AbortSignal): Promise<ReadonlyMap<RunningContainer, number>>;
  /**
   * Undoes `open`, once all containers have ended.
   * @param leaves whether containers go on for the next process, behind the same firewall
   */
  close(leaves?: boolean): Promise<void>;
}
