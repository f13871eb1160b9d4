/** The room on the disk that a pull needs. */
import type Dockerode from "dockerode";
import type { DiskSpace } from "../../disk/disk-space.ts";
import { roomToPull } from "../../disk/evictable.ts";
import { messageOf } from "../../lib/error.ts";
import type { Log } from "../../lib/log.ts";
import { ignoreStatus } from "./ignore-status.ts";
import { type Layer, missingBytes } from "./image-layers.ts";

export class PullRoom {
  readonly #docker: Dockerode;
  readonly #disk: DiskSpace;
  readonly #log: Log;

  constructor(docker: Dockerode, disk: DiskSpace, log: Log) {
    this.#docker = docker;
    this.#disk = disk;
    this.#log = log;
  }

  /**
   * Makes room for an image with these layers. The image is pulled in any case, since its size is an
   * estimate.
   */
  async makeFor(layers: readonly Layer[], signal: AbortSignal): Promise<void> {
    await this.#make(signal, async () => {
      if (await this.#disk.hasRoom(roomToPull(missingBytes(layers, [])))) return 0;
      return roomToPull(missingBytes(layers, await this.#localLayers()));
    });
  }

  /** For an image that found the disk full. @returns whether there is more now */
  makeAll(signal: AbortSignal): Promise<boolean> {
    return this.#make(signal, async () => Number.POSITIVE_INFINITY);
  }

  /** Whether the disk is mostly free, so that an image that does not fit is too large for it. */
  isMostlyFree(): Promise<boolean> {
    return this.#disk.isMostlyFree().catch(() => false);
  }

  async #make(signal: AbortSignal, needed: () => Promise<number>): Promise<boolean> {
    try {
      return await this.#disk.makeRoom(await needed(), "an image needs room", signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#log.warn("could not make room for an image", { error: messageOf(error) });
      return false;
    }
  }

  /** The digests of the unpacked layers of each image here. */
  async #localLayers(): Promise<string[][]> {
    const images = await this.#docker.listImages();
    const inspected = await Promise.all(
      images.map(({ Id }) => ignoreStatus([404], this.#docker.getImage(Id).inspect())),
    );
    return inspected.map((one) => one?.RootFS.Layers ?? []);
  }
}
