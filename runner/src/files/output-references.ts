/** Recognises the strings of a run's output that stand for files, and replaces each by a URL. */
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { decodeDataUri } from "../../../src/domain/files/decoded-data-uri.ts";
import { typeOfName } from "../../../src/domain/files/media-types.ts";
import { untilAborted } from "../../../src/lib/timeout.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { external, Failure, internal } from "../../../src/run/failure.ts";
import { reasonOf } from "../lib/error.ts";
import { fileName, type RunFiles } from "./output-server.ts";
import type { OutputStore } from "./output-store.ts";
import type { ServedFile } from "./serve-files.ts";
import { wavSecondsIn } from "./wav-file.ts";

/** The limit of files per run. Each is at least one request and one stored object. */
const MAX_FILES = 10_000;

export interface ContainerFile {
  content: Readable;
  /** The time of the last modification, in ms since the epoch. */
  modifiedMs: number;
}

export type ReadFile = (path: string) => Promise<ContainerFile>;

export interface ReferencesOptions {
  files: RunFiles;
  /** Reads a file of the container; undefined if `file:///…` is plain text. */
  read: ReadFile | undefined;
  store: OutputStore;
  /** The original text of each input file, by the URL that the container got for it. */
  inputs: ReadonlyMap<string, string>;
  /** Aborted when the URLs are no longer needed. */
  stop: AbortSignal;
}

export class References {
  readonly #options: ReferencesOptions;
  /** Pending files by a key that is equal for equal files: each is stored once, however often it is named. */
  readonly #pendingByKey = new Map<string, Pending>();
  /** Distinguishes files that this run has written from older ones. In whole seconds, as in tar archives. */
  readonly #startedAt = Math.floor(Date.now() / 1_000) * 1_000;
  #count = 0;

  constructor(options: ReferencesOptions) {
    this.#options = options;
  }

  /**
   * Returns a text that stands for no file as a text, with the run's temporary URLs replaced by the original
   * ones.
   * @throws Failure for too many files, or a file URL inside a longer text; the signal's reason once it is
   *   aborted
   */
  recognise(text: string): Pending | string {
    const { files, read } = this.#options;
    if (files.isAddress(text)) return this.#once(text, async () => files.find(text));
    const data = this.#data(text);
    if (data) return data;
    // `file://` texts are not deduplicated: the file may have changed by the next time.
    if (read && text.startsWith("file:///")) return this.#pend(() => this.#copy(text, read));
    return this.#plain(text);
  }

  #plain(text: string): string {
    const { files, inputs } = this.#options;
    if (files.isMentionedIn(text)) {
      throw external("the output has a file URL inside a longer text. Output the URL on its own");
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

  #once(key: string, take: () => Promise<ServedFile>): Pending {
    const pending = this.#pendingByKey.get(key) ?? this.#pend(take);
    this.#pendingByKey.set(key, pending);
    return pending;
  }

  #pend(take: () => Promise<ServedFile>): Pending {
    this.#options.stop.throwIfAborted();
    this.#count += 1;
    if (this.#count > MAX_FILES) throw external(`the output has more than ${MAX_FILES} files`);
    return new Pending(this.#store(take));
  }

  async #store(take: () => Promise<ServedFile>): Promise<StoredFile> {
    const { store, stop } = this.#options;
    const file = await untilAborted(take(), stop);
    const seconds = await wavSecondsIn(file);
    return { url: await store.file(file), isImage: file.mime_type.startsWith("image/"), seconds };
  }

  async #copy(text: string, read: ReadFile): Promise<ServedFile> {
    const path = filePath(text);
    const name = fileName(path);
    try {
      const { content, modifiedMs } = await read(path);
      if (modifiedMs < this.#startedAt) {
        content.destroy();
        throw external(`${path} in the output was not written by this run`);
      }
      const type = typeOfName(name) ?? "application/octet-stream";
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
    throw external(`the output has an invalid file path: ${text.slice(0, 200)}`, { cause });
  }
}

export interface StoredFile {
  /** The URL that the caller will see. */
  url: string;
  isImage: boolean;
  /** The duration of a WAV file. */
  seconds: number | undefined;
}

/** A placeholder for a string that stands for a file. */
export class Pending {
  readonly file: Promise<StoredFile>;

  constructor(file: Promise<StoredFile>) {
    this.file = file;
    // A rejection is handled here, since `file` may never be awaited if another part of the value fails first.
    file.catch(() => {});
  }
}

export type Draft = Json | Pending | Draft[] | { [key: string]: Draft };

/**
 * Returns the value with each string replaced by the result of `recognise`; the value itself if nothing
 * changes.
 * @param value no deeper than the limit for containers (interfaces/container-json.ts)
 */
export function createDraft(value: Json, recognise: (text: string) => Pending | string): Draft {
  if (typeof value === "string") return recognise(value);
  if (typeof value !== "object" || value === null) return value;
  let changed = false;
  const inner = (part: Json) => {
    const draft = createDraft(part, recognise);
    changed ||= draft !== part;
    return draft;
  };
  const draft = Array.isArray(value) ? value.map(inner) : mapValues(value, inner);
  return changed ? draft : value;
}

/** The value with URLs in place of the placeholders. */
export function fillDraft(draft: Draft, addresses: Map<Pending, string>): Json {
  if (draft instanceof Pending) return addresses.get(draft) ?? null;
  if (typeof draft !== "object" || draft === null) return draft;
  const inner = (part: Draft) => fillDraft(part, addresses);
  return Array.isArray(draft) ? draft.map(inner) : mapValues(draft, inner);
}

const mapValues = <A, B>(
  object: { [key: string]: A },
  change: (value: A) => B,
): { [key: string]: B } =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
