/**
 * Pushes an image out of a container engine or an archive. This program sends the layers of every engine
 * itself: docker and podman send a layer in one request, which zones refuse. It costs one reading of the
 * image; in return a push goes on after any break, since this program's digests are the same each time.
 */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import pLimit from "p-limit";
import { z } from "zod";
import { compressedSize } from "../../domain/images/select-image.ts";
import { count } from "../../lib/text.ts";
import { MEDIA_TYPES, manifest } from "../../protocol/oci.ts";
import type { Access } from "../access.ts";
import { Failure } from "../failure.ts";
import { Notes } from "../notes.ts";
import { bufferContent, fileContent } from "../registry/blob-upload.ts";
import { RegistryClient } from "../registry/registry-client.ts";
import { Repository } from "../registry/repository.ts";
import type { Live } from "../ui/display.ts";
import { formatBytes, Meter, progressBar, progressLine } from "../ui/progress.ts";
import { type Archive, type Blob, digestOf, type OnLarge, SAVE_AGAIN } from "./archive.ts";
import { type Layer, layer, packLayer, skip } from "./layer.ts";

/** Blobs that are sent at a time; the requests of one follow each other. */
const PARALLEL = 3;
/** The notes about packed layers are kept for 90 days. */
const STALE_MS = 90 * 24 * 3_600_000;

const imageConfig = z.object({ rootfs: z.object({ diff_ids: z.array(z.string()) }) });

export interface ImageSource {
  read(onLarge: OnLarge, signal: AbortSignal): Promise<Archive>;
}

export interface PushOptions {
  source: ImageSource;
  access: Access;
  /** `owner/name` */
  name: string;
  model: string;
  tag: string;
  /** Folder for layers until they are sent. */
  scratch: string;
  /** The folder of the notes about packed layers. */
  state: string;
  progress: PushProgress;
  signal: AbortSignal;
  onRetry: (error: unknown, delayMs: number) => void;
}

export interface Pushed {
  digest: string;
  compressedSize: number;
}

export const pushImage = (options: PushOptions): Promise<Pushed> => new ImagePush(options).run();

class ImagePush {
  readonly #options: PushOptions;
  readonly #repository: Repository;
  readonly #notes: Notes<Layer>;
  readonly #limit = pLimit(PARALLEL);
  readonly #failed = new AbortController();
  readonly #signal: AbortSignal;
  /** The packed layers by their paths in the archive. */
  readonly #layers = new Map<string, Layer>();
  /** The uploads by digest, because an image may have a layer twice. */
  readonly #sending = new Map<string, Promise<void>>();

  constructor(options: PushOptions) {
    this.#options = options;
    const { access, name, model, state, onRetry } = options;
    this.#signal = AbortSignal.any([options.signal, this.#failed.signal]);
    const client = new RegistryClient({ access, model, signal: this.#signal, onRetry });
    this.#repository = new Repository({ client, name, state });
    this.#notes = new Notes(`${state}/layers`, layer);
  }

  async run(): Promise<Pushed> {
    await this.#notes.sweep(STALE_MS);
    try {
      const archive = await this.#options.source.read(this.#onLarge, this.#signal);
      const layers = await this.#layersOf(archive);
      await this.#sendConfig(archive.config);
      await Promise.all(this.#sending.values());
      this.#signal.throwIfAborted();
      return await this.#pushManifest(archive, layers);
    } catch (error) {
      this.#failed.abort(error);
      throw error;
    } finally {
      // All uploads have ended when this returns.
      await Promise.allSettled(this.#sending.values());
    }
  }

  /** A path is made of what it holds, in each format: what a layer became can be known by it. */
  readonly #onLarge: OnLarge = async (path, bytes, size, blob) => {
    const known = blob ?? (await this.#notes.find([path]));
    if (!known || !(await this.#isThere(known))) return this.#pack(path, bytes, size, blob);
    this.#layers.set(path, known);
    if (!this.#sending.has(known.digest)) {
      this.#sending.set(known.digest, Promise.resolve());
      this.#options.progress.isThere();
    }
    await skip(bytes);
  };

  /** A refusal of the registry is the failure that is shown, not that the engine's pipe broke. */
  #isThere({ digest }: Layer): Promise<boolean> {
    return this.#repository.takeBlob(digest).catch((error: unknown) => {
      this.#failed.abort(error);
      throw error;
    });
  }

  async #pack(
    path: string,
    bytes: AsyncIterable<Buffer>,
    size: number,
    blob: Blob | undefined,
  ): Promise<void> {
    const { scratch, progress } = this.#options;
    const file = join(scratch, String(this.#layers.size));
    const { add, end } = progress.reading(size);
    const packed = await packLayer(counted(bytes, add), file, this.#signal, blob).finally(end);
    if (blob && packed.digest !== blob.digest)
      throw new Failure(`${path} in the archive is damaged. ${SAVE_AGAIN}`);
    this.#layers.set(path, packed);
    if (!blob) await this.#notes.save([path], packed);
    await this.#send(packed, file);
  }

  /** Begins to send a layer, unless it is on its way. @param file removed at its end */
  async #send(blob: Layer, file: string): Promise<void> {
    const { progress } = this.#options;
    if (this.#sending.has(blob.digest)) return rm(file);
    const content = await fileContent(file);
    const sending = this.#limit(async () => {
      this.#signal.throwIfAborted();
      if (await this.#repository.takeBlob(blob.digest)) return progress.isThere();
      const { end, ...events } = progress.sending(blob);
      await this.#repository.pushBlob(blob.digest, content, events).finally(end);
    }).finally(() => rm(file, { force: true }));
    // The first failure stops the reading and the other uploads.
    sending.catch((error: unknown) => this.#failed.abort(error));
    this.#sending.set(blob.digest, sending);
  }

  async #sendConfig({ digest, bytes }: Archive["config"]): Promise<void> {
    if (!(await this.#repository.hasBlob(digest)))
      await this.#repository.pushBlob(digest, bufferContent(bytes));
  }

  /** All layers in their order. @throws Failure if one is not what the image says */
  async #layersOf({ config, layers }: Archive): Promise<Layer[]> {
    for (const { path, small, blob } of layers)
      if (small && !this.#layers.has(path))
        await this.#pack(path, Readable.from([small]), small.length, blob);
    const { diff_ids } = imageConfig.parse(JSON.parse(config.bytes.toString())).rootfs;
    return Promise.all(
      layers.map(async ({ path }, index) => {
        const found = this.#layers.get(path);
        const isRight = found && (!found.diffId || found.diffId === diff_ids[index]);
        if (isRight && layers.length === diff_ids.length) return found;
        await this.#notes.remove([path]);
        throw new Failure(`Layer ${path} doesn't match the image. Run the same command again.`);
      }),
    );
  }

  async #pushManifest({ config, ...archive }: Archive, layers: Layer[]): Promise<Pushed> {
    const { mediaType, bytes } = archive.manifest ?? ociManifest(config, layers);
    await this.#repository.pushManifest(this.#options.tag, mediaType, bytes);
    const size = compressedSize(manifest.parse(JSON.parse(bytes.toString())));
    return { digest: digestOf(bytes), compressedSize: size };
  }
}

function ociManifest({ digest, bytes }: Archive["config"], layers: Layer[]) {
  const mediaType = MEDIA_TYPES.ociManifest;
  const text = JSON.stringify({
    schemaVersion: 2,
    mediaType,
    config: { mediaType: MEDIA_TYPES.ociConfig, digest, size: bytes.length },
    layers: layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
  });
  return { mediaType, bytes: Buffer.from(text) };
}

async function* counted(
  bytes: AsyncIterable<Buffer>,
  count: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    count(chunk.length);
    yield chunk;
  }
}

/** `1a2b3c4d5e6f` */
export const shortDigest = (digest: string): string => digest.slice("sha256:".length).slice(0, 12);

const LABEL_COLUMNS = 14;

export class PushProgress implements Live {
  readonly #shown = new Map<string, Meter>();
  #layers = 0;
  #there = 0;
  #sentBytes = 0;
  #arrivedBytes = 0;

  /** A layer is read out of the engine. @returns what counts its bytes, and what ends it */
  reading(size: number) {
    return this.#show("reading", size);
  }

  sending({ digest, size }: Pick<Layer, "digest" | "size">) {
    this.#layers += 1;
    const { add, found, end } = this.#show(shortDigest(digest), size);
    return {
      onSent: (bytes: number) => {
        this.#sentBytes += bytes;
        add(bytes);
      },
      onArrived: (bytes: number) => {
        this.#arrivedBytes += bytes;
        found(bytes);
      },
      end,
    };
  }

  /** A layer is in the registry already. */
  isThere(): void {
    this.#layers += 1;
    this.#there += 1;
  }

  /** `Pushed 4 layers (12.0 MB sent, 40.0 MB resumed, 3 already there)` */
  get summary(): string {
    const parts = [
      `${formatBytes(this.#sentBytes)} sent`,
      ...(this.#arrivedBytes > 0 ? [`${formatBytes(this.#arrivedBytes)} resumed`] : []),
      ...(this.#there > 0 ? [`${this.#there} already there`] : []),
    ];
    return `Pushed ${count(this.#layers, "layer")} (${parts.join(", ")})`;
  }

  draw(columns: number): string[] {
    return this.#lines(
      (label, meter) =>
        `${label.padEnd(LABEL_COLUMNS)}${progressBar(meter.sample(performance.now()), columns - LABEL_COLUMNS)}`,
    );
  }

  line(): string | undefined {
    const lines = this.#lines(
      (label, meter) => `${label} ${progressLine(meter.sample(performance.now()))}`,
    );
    return lines.length > 0 ? lines.join("; ") : undefined;
  }

  #lines(lineOf: (label: string, meter: Meter) => string): string[] {
    return [...this.#shown].map(([label, meter]) => lineOf(label, meter));
  }

  #show(label: string, size: number) {
    // An empty layer counts as done.
    const meter = new Meter(Math.max(size, 1), 0, performance.now());
    this.#shown.set(label, meter);
    const { add, found } = meter;
    return { add, found, end: () => void this.#shown.delete(label) };
  }
}
