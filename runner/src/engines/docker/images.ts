/** The images of the Docker engine: found, pulled, and removed when the disk is full. */
import type Dockerode from "dockerode";
import { onAbort } from "../../../../src/lib/timeout.ts";
import type { Image } from "../../../../src/protocol/runner.ts";
import { external } from "../../../../src/run/failure.ts";
import { DiskSpace, diskUsage, onDiskOf } from "../../disk/disk-space.ts";
import { defaultKeptFree, type EvictionSource } from "../../disk/evictable.ts";
import { gigabytes } from "../../files/transfer.ts";
import { messageOf } from "../../lib/error.ts";
import type { Log } from "../../lib/log.ts";
import { repeat } from "../../lib/repeat.ts";
import { type ImageRequest, type ReportProgress, referenceOf } from "../engine.ts";
import type { DockerOptions } from "../options.ts";
import { ignoreStatus, onceBack } from "./errors.ts";
import { hasReference } from "./image.ts";
import { ImageRecord, ImageStore } from "./image-store.ts";
import { type DockerInfo, imageFolders, usesContainerdStore } from "./info.ts";
import { isOwnImage, noRegistry, OwnRegistry } from "./own-registry.ts";
import { ImagePuller, PullRoom } from "./pull.ts";

export interface DockerImagesOptions {
  docker: Dockerode;
  /** The runner's name. */
  runner: string;
  engine: DockerOptions;
  /** Evictables that may be removed too when the images' disk is full, if they are on it. */
  others: readonly EvictionSource[];
  watchIntervalMs: number;
  log: Log;
}

export class DockerImages {
  readonly #options: DockerImagesOptions;
  readonly #registry: OwnRegistry | undefined;
  #store: ImageStore | undefined;
  #puller: ImagePuller | undefined;
  /** Functions that end a hold, by the signal that a container is pulled and started with. */
  readonly #holds = new WeakMap<AbortSignal, () => void>();
  readonly #closed = new AbortController();
  #endWatch = () => {};
  /** The folders that may have images. */
  #folders: string[] = [];

  constructor(options: DockerImagesOptions) {
    const { deployment } = options.engine;
    this.#options = options;
    this.#registry = deployment === undefined ? undefined : new OwnRegistry(deployment);
  }

  async open(info: DockerInfo): Promise<void> {
    const { docker, runner, log } = this.#options;
    this.#folders = imageFolders(info);
    const disk = await this.#openDisk(info);
    const record = await this.#openRecord();
    const folder = info.DockerRootDir;
    this.#store = new ImageStore({ docker, folder, record, runner, log });
    disk?.add(this.#store, ...(await onDiskOf(imageFolders(info), this.#options.others)));
    this.#puller = new ImagePuller({
      docker,
      runner,
      registry: this.#registry,
      room: disk && new PullRoom(docker, disk, log),
      dropsLayers: !usesContainerdStore(info),
      log,
    });
  }

  async #openRecord(): Promise<ImageRecord> {
    const { engine, log } = this.#options;
    const record = new ImageRecord(engine.state);
    try {
      await record.open();
      return record;
    } catch (error) {
      const fields = { state: engine.state, error: messageOf(error) };
      log.warn("the state directory (--state) is not usable, so images are not removed", fields);
      return new ImageRecord(undefined);
    }
  }

  /** Undefined if no images are to be removed, or the disk cannot be seen from here. */
  async #openDisk(info: DockerInfo): Promise<DiskSpace | undefined> {
    const { log, watchIntervalMs } = this.#options;
    const { free_bytes, state } = this.#options.engine;
    if (free_bytes === 0 || state === undefined) return undefined;
    const usage = () => diskUsage(imageFolders(info));
    try {
      const keptFree = free_bytes ?? defaultKeptFree((await usage()).total);
      const disk = new DiskSpace({ usage, keptFree, log });
      log.info("watching the disk with Docker's images", { kept_free_gb: gigabytes(keptFree) });
      const watch = () => disk.watch(this.#closed.signal).catch(this.#onWatchFailure);
      this.#endWatch = repeat(watchIntervalMs, watch);
      return disk;
    } catch (error) {
      const fields = { folders: imageFolders(info), error: messageOf(error) };
      log.info(
        "the disk with Docker's images is not visible from here, so it is not monitored",
        fields,
      );
      return undefined;
    }
  }

  readonly #onWatchFailure = (error: unknown): void => {
    if (this.#closed.signal.aborted) return;
    this.#options.log.warn("could not watch the disk", { error: messageOf(error) });
  };

  disk = () => diskUsage(this.#folders);

  async bytes(): Promise<number> {
    const images = (await this.#store?.evictables()) ?? [];
    return images.reduce((sum, { size }) => sum + size, 0);
  }

  /** Returns `repository@digest` of the images on this machine, as claims report them. */
  async list(): Promise<string[]> {
    const images = await this.#options.docker.listImages();
    const references = images.flatMap((image) => image.RepoDigests ?? []);
    return references.map((one) => this.#registry?.reportedReference(one) ?? one);
  }

  /**
   * Pulls the image unless it is there, and keeps it until `started` is called or the signal is aborted.
   * @returns its size
   */
  async pull(request: ImageRequest, report: ReportProgress, signal: AbortSignal): Promise<number> {
    const [store, puller] = [this.#store, this.#puller];
    if (!store || !puller) throw new Error("not open");
    const { log } = this.#options;
    const { image } = request;
    const reference = this.#localReference(image);
    const release = await store.hold(reference);
    const forget = onAbort(signal, release);
    const end = () => {
      release();
      forget();
    };
    this.#holds.set(signal, end);
    try {
      const found = await onceBack(() => this.find(image), {
        signal,
        isBounded: true,
        onAway: () => {
          log.warn("waiting for Docker, which does not respond");
          report({ phase: "pulling", message: "waiting for Docker on the runner's machine" });
        },
      });
      if (found) {
        await store.used(reference);
        return found.Size;
      }
      await store.pulling(reference);
      await puller.pull(request, report, signal);
      await store.used(reference);
      const pulled = await this.find(image);
      if (pulled) return pulled.Size;
      throw external(`${referenceOf(image)} is missing on this machine after the pull`);
    } catch (error) {
      end();
      await store.forgetUnlessThere(reference);
      throw error;
    }
  }

  /** Ends the hold: Docker has a container of the image by now, or will have none. */
  started(signal: AbortSignal): void {
    this.#holds.get(signal)?.();
  }

  async ended(image: Image): Promise<void> {
    await this.#store?.used(this.#localReference(image));
  }

  /** Stops removing images and noting their use. */
  close(): void {
    this.#endWatch();
    this.#closed.abort();
    this.#store?.close();
  }

  /**
   * Finds an image by repository and digest together: knowing a digest must not be enough to use
   * it.
   */
  async find(image: Image): Promise<Dockerode.ImageInspectInfo | undefined> {
    const reference = this.#localReference(image);
    const inspection = this.#options.docker.getImage(reference).inspect();
    const inspected = await ignoreStatus([404], inspection);
    return hasReference(inspected?.RepoDigests ?? [], reference) ? inspected : undefined;
  }

  /** `repository@digest` as Docker has it. */
  #localReference(image: Image): string {
    if (!isOwnImage(image)) return referenceOf(image);
    if (!this.#registry) throw noRegistry();
    return this.#registry.localReference(image);
  }
}
