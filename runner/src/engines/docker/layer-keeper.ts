/**
 * Keeps the layers that a pull has unpacked so far. When a pull breaks or is given up, Docker (without
 * containerd's image store) drops its layers, and the next pull would fetch all of them again. So an image of
 * the lowest layers is loaded into Docker, without their content, which Docker has already: Docker keeps the
 * layers as long as it has that image.
 */
import { Readable } from "node:stream";
import type Dockerode from "dockerode";
import { pack } from "tar-stream";
import { messageOf } from "../../lib/error.ts";
import type { Log } from "../../lib/log.ts";
import { ignoreStatus } from "./errors.ts";
import type { ImageLayers } from "./image-layers.ts";
import { followLines, isThere, type ProgressLine } from "./pull-progress.ts";

/** The value of `KEPT_LABEL` is the runner's name. */
export const KEPT_LABEL = "auspex.runner.kept";
/** The value of `KEPT_FOR_LABEL` is the reference of the image that is pulled. */
export const KEPT_FOR_LABEL = "auspex.runner.kept-for";

/** The value of `COUNT_LABEL` is the number of layers. */
const COUNT_LABEL = "auspex.runner.kept-layers";

/** Docker's progress names layers by this many digits. */
const ID_LENGTH = 12;

export interface LayerKeeperOptions {
  docker: Dockerode;
  runner: string;
  reference: string;
  image: ImageLayers;
  log: Log;
}

export class LayerKeeper {
  readonly #options: LayerKeeperOptions;
  /** Layers that Docker has, as its progress names them. */
  readonly #present = new Set<string>();
  #kept = 0;
  #work: Promise<void> | undefined;
  #works = true;

  constructor(options: LayerKeeperOptions) {
    this.#options = options;
  }

  add(line: ProgressLine): void {
    if (line.id === undefined || !isThere(line)) return;
    this.#present.add(line.id);
    this.#keep();
  }

  /** Resolves when nothing is being kept any more. */
  async settled(): Promise<void> {
    while (this.#work) await this.#work;
  }

  /** Releases the kept layers, since Docker has the whole image. */
  async release(): Promise<void> {
    await this.settled();
    await this.#remove();
  }

  #keep(): void {
    const lowest = this.#lowest();
    if (this.#work || !this.#works || lowest <= this.#kept) return;
    this.#work = this.#load(lowest)
      .catch((error: unknown) => {
        this.#works = false;
        const { log, reference: image } = this.#options;
        log.debug("cannot keep the layers of a pull", { image, error: messageOf(error) });
      })
      .then(() => {
        this.#kept = lowest;
        this.#work = undefined;
        // Other layers may have come meanwhile.
        this.#keep();
      });
  }

  /** How many layers are there, from the lowest on without a gap. */
  #lowest(): number {
    const { layers } = this.#options.image;
    const isMissing = ({ digest }: { digest: string }) => {
      const [, digits = ""] = digest.split(":");
      return !this.#present.has(digits.slice(0, ID_LENGTH));
    };
    const gap = layers.findIndex(isMissing);
    return gap === -1 ? layers.length : gap;
  }

  async #load(lowest: number): Promise<void> {
    const { docker } = this.#options;
    const before = await this.#keptImages();
    // An earlier pull, or another one that goes on, may have kept more layers.
    if (before.some(({ count }) => count >= lowest)) return;
    await followLines(await docker.loadImage(this.#archive(lowest)));
    for (const { id } of before) await ignoreStatus([404], docker.getImage(id).remove());
  }

  /** Returns an archive in the format of `docker save`. Docker does not read layers whose digests it has. */
  #archive(lowest: number): NodeJS.ReadableStream {
    const { image, runner, reference } = this.#options;
    const diffIds = image.layers.slice(0, lowest).map(({ diffId }) => diffId);
    const configuration = {
      os: image.os,
      architecture: image.architecture,
      created: new Date().toISOString(),
      config: {
        Labels: {
          [KEPT_LABEL]: runner,
          [KEPT_FOR_LABEL]: reference,
          [COUNT_LABEL]: String(lowest),
        },
      },
      rootfs: { type: "layers", diff_ids: diffIds },
    };
    const manifest = [
      { Config: "config.json", RepoTags: null, Layers: diffIds.map((_, at) => `${at}/layer.tar`) },
    ];
    const archive = pack();
    archive.entry({ name: "config.json" }, JSON.stringify(configuration));
    archive.entry({ name: "manifest.json" }, JSON.stringify(manifest));
    archive.finalize();
    return Readable.from(archive);
  }

  async #keptImages(): Promise<{ id: string; count: number }[]> {
    const { docker, runner, reference } = this.#options;
    const label = [`${KEPT_LABEL}=${runner}`, `${KEPT_FOR_LABEL}=${reference}`];
    const images = await docker.listImages({ filters: { label } });
    return images.map(({ Id, Labels }) => ({ id: Id, count: Number(Labels[COUNT_LABEL]) }));
  }

  async #remove(): Promise<void> {
    const { docker, log, reference: image } = this.#options;
    try {
      for (const { id } of await this.#keptImages()) {
        await ignoreStatus([404], docker.getImage(id).remove());
      }
    } catch (error) {
      log.warn("could not remove what was kept of a pull", { image, error: messageOf(error) });
    }
  }
}
