/**
 * Pushes an image out of a container engine. It is read with `save` and sent by this program, with every
 * engine: docker and podman send a layer in one request, which zones refuse, and to push through the
 * relay their daemon must reach this machine's loopback, which Docker Desktop's does not. It costs one
 * reading of the image; in return a push goes on after any break, since this program's digests are the
 * same each time.
 */
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import pLimit from "p-limit";
import { z } from "zod";
import { compressedSize } from "../../domain/images/compressed-size.ts";
import { MEDIA_TYPES } from "../../protocol/oci.ts";
import type { Access } from "../access/access.ts";
import { Failure } from "../failure.ts";
import { bufferContent, fileContent } from "../registry/content.ts";
import { RegistryClient } from "../registry/registry-client.ts";
import { Repository } from "../registry/repository.ts";
import { Notes } from "../state/notes.ts";
import { type Archive, readArchive } from "./archive.ts";
import type { Engine } from "./engine.ts";
import { type Layer, layer, packLayer, skip } from "./layer.ts";
import type { PushProgress } from "./push-progress.ts";

/** Blobs that are sent at a time; the requests of one follow each other. */
const PARALLEL = 3;
/** What a layer became is remembered for so long after it was last packed. */
const STALE_MS = 90 * 24 * 3_600_000;

const imageConfig = z.object({ rootfs: z.object({ diff_ids: z.array(z.string()) }) });

export interface PushOptions {
  engine: Engine;
  /** What the engine calls it. */
  image: string;
  access: Access;
  /** `owner/name` */
  name: string;
  /** Its id. */
  model: string;
  tag: string;
  /** For layers until they are sent. */
  scratch: string;
  /** Where it is remembered what layers became. */
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
  /** By their paths in the archive. */
  readonly #layers = new Map<string, Layer>();
  /** By digest: an image may have a layer twice. */
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
      const archive = await this.#read();
      const layers = await this.#layersOf(archive);
      const config = { digest: digestOf(archive.config), size: archive.config.length };
      await this.#sendConfig(config.digest, archive.config);
      await Promise.all(this.#sending.values());
      this.#signal.throwIfAborted();
      return await this.#pushManifest(config, layers);
    } catch (error) {
      this.#failed.abort(error);
      throw error;
    } finally {
      // All have ended when this returns.
      await Promise.allSettled(this.#sending.values());
    }
  }

  async #read(): Promise<Archive> {
    const { engine, image } = this.#options;
    const { archive, ended } = engine.save(image, this.#signal);
    try {
      const read = await readArchive(archive, this.#onLarge, this.#signal);
      await ended;
      return read;
    } catch (error) {
      this.#signal.throwIfAborted();
      // An archive that breaks off is the engine's failure, which says more.
      await ended;
      throw error;
    }
  }

  /** A path is made of what it holds, in each format: what a layer became can be known by it. */
  readonly #onLarge = async (
    path: string,
    bytes: AsyncIterable<Buffer>,
    size: number,
  ): Promise<void> => {
    const known = await this.#notes.find([path]);
    if (!known || !(await this.#isThere(known))) return this.#pack(path, bytes, size);
    this.#layers.set(path, known);
    if (!this.#sending.has(known.digest)) {
      this.#sending.set(known.digest, Promise.resolve());
      this.#options.progress.isThere();
    }
    await skip(bytes);
  };

  /** What the registry refuses is the failure, not that the engine could not go on. */
  #isThere({ digest }: Layer): Promise<boolean> {
    return this.#repository.takeBlob(digest).catch((error: unknown) => {
      this.#failed.abort(error);
      throw error;
    });
  }

  async #pack(path: string, bytes: AsyncIterable<Buffer>, size: number): Promise<void> {
    const { scratch, progress } = this.#options;
    const file = join(scratch, String(this.#layers.size));
    const { add, end } = progress.reading(size);
    const packed = await packLayer(counted(bytes, add), file, this.#signal).finally(end);
    this.#layers.set(path, packed);
    await this.#notes.save([path], packed);
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
    // The first failure stops the reading, and what else is on its way.
    sending.catch((error: unknown) => this.#failed.abort(error));
    this.#sending.set(blob.digest, sending);
  }

  async #sendConfig(digest: string, bytes: Buffer): Promise<void> {
    if (!(await this.#repository.hasBlob(digest)))
      await this.#repository.pushBlob(digest, bufferContent(bytes));
  }

  /** All layers in their order. @throws Failure if one is not what the image says */
  async #layersOf({ config, layers }: Archive): Promise<Layer[]> {
    for (const { path, small } of layers)
      if (small && !this.#layers.has(path))
        await this.#pack(path, Readable.from([small]), small.length);
    const { diff_ids } = imageConfig.parse(JSON.parse(config.toString())).rootfs;
    return Promise.all(
      layers.map(async ({ path }, index) => {
        const found = this.#layers.get(path);
        const isRight = found && (!found.diffId || found.diffId === diff_ids[index]);
        if (isRight && layers.length === diff_ids.length) return found;
        await this.#notes.remove([path]);
        throw new Failure(
          `The layer ${path} is not what the image says. Run the same command again.`,
        );
      }),
    );
  }

  async #pushManifest(config: Pick<Layer, "digest" | "size">, layers: Layer[]): Promise<Pushed> {
    const manifest = {
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.ociManifest,
      config: { mediaType: MEDIA_TYPES.ociConfig, ...config },
      layers: layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
    };
    const body = Buffer.from(JSON.stringify(manifest));
    await this.#repository.pushManifest(this.#options.tag, manifest.mediaType, body);
    return { digest: digestOf(body), compressedSize: compressedSize(manifest) };
  }
}

const digestOf = (bytes: Buffer): string =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

async function* counted(
  bytes: AsyncIterable<Buffer>,
  count: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    count(chunk.length);
    yield chunk;
  }
}
