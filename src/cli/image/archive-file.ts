/** An archive of `docker save` or an OCI layout: a tar, which gzip may have compressed, or a folder. */
import { createReadStream } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { messageOf } from "../../../runner/src/lib/error.ts";
import { Failure, Misuse } from "../failure.ts";
import {
  type Archive,
  type Blob,
  type Entry,
  type OnLarge,
  readArchive,
  SAVE_AGAIN,
  tarEntries,
} from "./archive.ts";
import { skip } from "./layer.ts";
import type { ImageSource } from "./push-image.ts";

const GZIP = Buffer.from([0x1f, 0x8b]);

export class ArchiveFile implements ImageSource {
  readonly #path: string;
  readonly #name: string | undefined;
  /** The layers of the image by path, each with its blob if the archive is an OCI layout. */
  #layers = new Map<string, Blob | undefined>();

  private constructor(path: string, name: string | undefined) {
    this.#path = path;
    this.#name = name;
  }

  /**
   * Reads all of the archive once: an archive that breaks off or lacks a layer makes no model.
   * @param name of the image, for an archive that has several
   * @throws Failure, Misuse
   */
  static async open(
    path: string,
    name: string | undefined,
    signal: AbortSignal,
  ): Promise<ArchiveFile> {
    const file = new ArchiveFile(path, name);
    try {
      const { layers } = await file.#read((_, bytes) => skip(bytes), signal);
      file.#layers = new Map(layers.map((one) => [one.path, one.blob]));
      return file;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Failure) throw error;
      throw new Failure(`Can't read ${path}: ${messageOf(error)}. ${SAVE_AGAIN}`);
    }
  }

  /** Hands over only the layers of the image. */
  read(onLarge: OnLarge, signal: AbortSignal): Promise<Archive> {
    return this.#read(
      (path, bytes, size) =>
        this.#layers.has(path) ? onLarge(path, bytes, size, this.#layers.get(path)) : skip(bytes),
      signal,
    );
  }

  async #read(onLarge: OnLarge, signal: AbortSignal): Promise<Archive> {
    return readArchive(await this.#entries(signal), onLarge, this.#name);
  }

  async #entries(signal: AbortSignal): Promise<AsyncIterable<Entry>> {
    const path = this.#path;
    const found = await stat(path).catch(() => undefined);
    if (!found) throw new Misuse(`Not found: ${path}`);
    if (found.isDirectory()) return folderEntries(path);
    const file = createReadStream(path);
    if (!(await isGzip(path))) return tarEntries(file, signal);
    return tarEntries(
      pipeline(file, createGunzip(), () => {}),
      signal,
    );
  }
}

/** The entries of an OCI layout. */
async function* folderEntries(folder: string): AsyncGenerator<Entry> {
  const blobs = await readdir(join(folder, "blobs/sha256")).catch(() => []);
  for (const path of ["index.json", ...blobs.map((name) => `blobs/sha256/${name}`)]) {
    const file = join(folder, path);
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile()) yield { path, size: found.size, bytes: createReadStream(file) };
  }
}

async function isGzip(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(GZIP.length), 0, GZIP.length, 0);
    return buffer.equals(GZIP);
  } finally {
    await file.close();
  }
}
