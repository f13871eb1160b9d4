/** The strings of a run's output that stand for files, and what becomes of each: an address. */
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import mime from "mime/lite";
import { untilAborted } from "../../../src/lib/timeout.ts";
import { external, Failure, internal } from "../containers/failure.ts";
import { reasonOf } from "../control-plane/error.ts";
import type { ContainerFile } from "../engines/engine.ts";
import { decodeDataUri } from "./data-uri.ts";
import { Pending } from "./output-draft.ts";
import type { LocalFile } from "./output-folder.ts";
import { fileName, type RunFiles } from "./output-server.ts";
import type { OutputStore } from "./output-store.ts";

/** Of one run. Each is a request or more, and an object in the store. */
const MAX_FILES = 10_000;

export type ReadFile = (path: string) => Promise<ContainerFile>;

export interface ReferencesOptions {
  files: RunFiles;
  /** Reads a file of the container; undefined where `file:///…` is a text like any other. */
  read: ReadFile | undefined;
  store: OutputStore;
  /** By the address that the container has for it: each file of the input as its caller named it. */
  inputs: ReadonlyMap<string, string>;
  /** Nobody waits for the addresses any more. */
  stop: AbortSignal;
}

export class References {
  readonly #options: ReferencesOptions;
  /** By what is the same for the same file: it is stored once, however often it is named. */
  readonly #pendingByKey = new Map<string, Pending>();
  /** Tells what this run has written from what was there before. In whole seconds, as archives have it. */
  readonly #startedAt = Math.floor(Date.now() / 1_000) * 1_000;
  #count = 0;

  constructor(options: ReferencesOptions) {
    this.#options = options;
  }

  /**
   * What stands for no file is a text, in which no address is left that ends with the run.
   * @throws Failure for a file too many, or one that is named inside a longer text; the signal's
   * reason for any file once that is aborted
   */
  recognise(text: string): Pending | string {
    const { files, read } = this.#options;
    if (files.isAddress(text)) return this.#once(text, async () => files.find(text));
    if (text.startsWith("data:")) return this.#data(text) ?? this.#plain(text);
    // Not once: what lies there may be another file by the next time.
    if (read && text.startsWith("file:///")) return this.#pend(() => this.#copy(text, read));
    return this.#plain(text);
  }

  #plain(text: string): string {
    const { files, inputs } = this.#options;
    if (files.isMentionedIn(text)) {
      throw external("the output has the address of a file inside a longer text: put it out alone");
    }
    let plain = text;
    for (const [address, original] of inputs) plain = plain.replaceAll(address, () => original);
    return plain;
  }

  #data(text: string): Pending | undefined {
    const { files } = this.#options;
    const file = decodeDataUri(text);
    if (!file) return undefined;
    const { bytes, name, mime_type } = file;
    const key = createHash("sha256").update(`${mime_type}\n`).update(bytes).digest("hex");
    return this.#once(key, () => files.add([bytes], name, mime_type));
  }

  #once(key: string, take: () => Promise<LocalFile>): Pending {
    const pending = this.#pendingByKey.get(key) ?? this.#pend(take);
    this.#pendingByKey.set(key, pending);
    return pending;
  }

  #pend(take: () => Promise<LocalFile>): Pending {
    this.#options.stop.throwIfAborted();
    this.#count += 1;
    if (this.#count > MAX_FILES) throw external(`the output has more than ${MAX_FILES} files`);
    return new Pending(this.#store(take));
  }

  async #store(take: () => Promise<LocalFile>): Promise<string> {
    const { store, stop } = this.#options;
    return store.file(await untilAborted(take(), stop));
  }

  async #copy(text: string, read: ReadFile): Promise<LocalFile> {
    const path = filePath(text);
    const name = fileName(path);
    try {
      const { content, modifiedMs } = await read(path);
      if (modifiedMs < this.#startedAt) {
        content.destroy();
        throw external(`${path}, which the output names, was not written by this run`);
      }
      const type = mime.getType(name) ?? "application/octet-stream";
      return await this.#options.files.add(content, name, type);
    } catch (cause) {
      if (cause instanceof Failure) throw cause;
      throw internal(`${path} cannot be read from the container: ${reasonOf(cause)}`, { cause });
    }
  }
}

function filePath(text: string): string {
  try {
    return fileURLToPath(text);
  } catch (cause) {
    throw external(`the output names a file by what is no path: ${text.slice(0, 200)}`, { cause });
  }
}
