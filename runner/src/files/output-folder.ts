/** The files that a container has uploaded, on disk until they are stored; bounded. */
import { randomUUID } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { asUtf8, lacksCharset } from "../../../src/domain/files/file-type.ts";
import { areUtf8Parts, Utf8Check } from "../../../src/lib/utf8-check.ts";
import { external, Failure, internal } from "../../../src/run/failure.ts";
import { reasonOf } from "../lib/error.ts";
import type { ScratchFolders } from "../lib/scratch.ts";
import type { ServedFile } from "./serve-files.ts";

/** The limits of one container at a time. */
export interface FolderLimits {
  fileBytes: number;
  totalBytes: number;
  count: number;
}

export type Content = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

export class OutputFolder {
  readonly #root: ScratchFolders;
  readonly #limits: FolderLimits;
  #directory: Promise<string> | undefined;
  #bytes = 0;
  #count = 0;

  /** `root`: where to create the folder, once there is a file for it. */
  constructor(root: ScratchFolders, bounds: FolderLimits) {
    this.#root = root;
    this.#limits = bounds;
  }

  /** @throws Failure if it exceeds the limits or the disk fails; what reading the content throws */
  async add(content: Content, name: string, mime_type: string): Promise<ServedFile> {
    const file = { path: "", name, mime_type, size: 0 };
    this.#count += 1;
    try {
      if (this.#count > this.#limits.count) {
        throw external(`the container has more than ${this.#limits.count} files at a time`);
      }
      file.path = join(await onDisk(name, this.#open()), randomUUID());
      await this.#write(file, content);
      return file;
    } catch (error) {
      await this.remove(file);
      throw error;
    }
  }

  async remove({ path, size }: ServedFile): Promise<void> {
    this.#count -= 1;
    this.#bytes -= size;
    if (path !== "") await removeQuietly(path);
  }

  async close(): Promise<void> {
    const directory = await this.#directory?.catch(() => undefined);
    if (directory) await removeQuietly(directory);
  }

  async #write(file: ServedFile, content: Content): Promise<void> {
    const { name } = file;
    const check = lacksCharset(file.mime_type) ? new Utf8Check() : undefined;
    const handle = await onDisk(name, open(file.path, "wx", 0o600));
    try {
      for await (const chunk of content) {
        file.size += chunk.length;
        this.#bytes += chunk.length;
        this.#checkLimits(file);
        check?.add(chunk);
        await onDisk(name, handle.appendFile(chunk));
      }
    } finally {
      await handle.close();
    }
    if (areUtf8Parts([check?.edges])) file.mime_type = asUtf8(file.mime_type);
  }

  #checkLimits({ name, size }: ServedFile): void {
    const { fileBytes, totalBytes } = this.#limits;
    if (size > fileBytes) throw external(`the file ${name} is larger than ${fileBytes} bytes`);
    if (this.#bytes <= totalBytes) return;
    throw external(`the container's files are larger than ${totalBytes} bytes in total`);
  }

  #open(): Promise<string> {
    this.#directory ??= this.#root.make();
    return this.#directory;
  }
}

/**
 * A file that cannot be removed now is removed when the runner starts again; no run fails because
 * of it.
 */
const removeQuietly = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true }).catch(() => {});

/** A full or broken disk is a problem of this machine and not the container's. */
async function onDisk<T>(name: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw internal(`the runner could not write the file ${name}: ${reasonOf(cause)}`, { cause });
  }
}
