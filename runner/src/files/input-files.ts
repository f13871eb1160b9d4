/** Makes the files of an input available to the container that reads them. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pLimit from "p-limit";
import { dataUri } from "../../../src/domain/files/data-uri.ts";
import { getChild, replaceText } from "../../../src/domain/files/input-files.ts";
import { markedName } from "../../../src/lib/exact-json.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { InputFile } from "../../../src/protocol/runner.ts";
import { external, Failure, internal } from "../../../src/run/failure.ts";
import type { FileStore } from "../control-plane/client.ts";
import type { RunnableJob } from "../jobs/executor.ts";
import type { CallbackServer } from "../lib/callback-server.ts";
import { Mutex } from "../lib/mutex.ts";
import { VERSION } from "../lib/version.ts";
import { CacheFull, RECORD_BYTES } from "./cache-folder.ts";
import { type CachedFile, FileCache } from "./file-cache.ts";
import { AddressPolicy } from "./public-address.ts";
import { PublicFetch } from "./public-fetch.ts";
import { type ServedFile, serveFiles } from "./serve-files.ts";
import { type StoredFile, StoredFiles } from "./stored-files.ts";
import { gigabytes } from "./transfer.ts";
import { nameFor, WebFiles } from "./web-files.ts";

export interface FileOptions {
  /** A directory that no other runner uses. */
  cache: string;
  /** The limit of all files in it. */
  cache_bytes: number;
  /** How long files are kept after their last use. */
  cache_ms: number;
  max_file_bytes: number;
  /** Private CIDR ranges from which files may be fetched, over http too. */
  fetch_allow: string[];
}

/**
 * An input in which each file is a URL that the container can fetch, until it is closed, or the data URI as
 * which it was sent.
 */
export interface ReachableInput {
  input: Record<string, Json>;
  /** Files by the text in the input that stands for each, without those that are data URIs. */
  files: ReadonlyMap<string, ServedFile>;
  close(): void;
}

/** How many files of one run are fetched in parallel. */
const PARALLEL = 4;

export class InputFiles {
  readonly #server: CallbackServer;
  readonly #cache: FileCache;
  /** The bytes that the files of one run may take, so that no run fills the cache. */
  readonly #max: number;
  readonly #mutex = new Mutex();
  readonly #stored: StoredFiles;
  readonly #web: WebFiles;

  constructor(server: CallbackServer, controlPlane: Pick<FileStore, "file">, options: FileOptions) {
    this.#server = server;
    const { cache_bytes: bytes, cache_ms: ageMs } = options;
    this.#cache = new FileCache(join(options.cache, "inputs"), { bytes, ageMs });
    this.#max = Math.floor(bytes / 2);
    // A file that does not fit is not fetched at all.
    const max = Math.min(options.max_file_bytes, this.#max - RECORD_BYTES);
    this.#stored = new StoredFiles(controlPlane, this.#cache, max);
    this.#web = new WebFiles(
      new PublicFetch(
        new AddressPolicy(options.fetch_allow),
        undefined,
        `auspex-runner/${VERSION}`,
      ),
      this.#cache,
      max,
    );
  }

  /** To be called before the first run. */
  async start(): Promise<void> {
    await this.#cache.start();
  }

  /** The size of the cached files. */
  get bytes(): number {
    return this.#cache.bytes;
  }

  /** @throws Failure for a file that cannot be fetched; the signal's reason */
  async open(job: RunnableJob, stop: AbortSignal): Promise<ReachableInput> {
    if (job.files.length === 0) return { input: job.input, files: new Map(), close() {} };
    const cached = await this.#openWithRoom(job, stop);
    const files = cached.map(servedFile);
    const end = new AbortController();
    const { url, close: stopServing } = this.#server.open(serveFiles(files, end.signal));
    const close = () => {
      stopServing();
      end.abort();
      for (const one of cached) one.release();
    };
    try {
      let { input } = job;
      const served = new Map<string, ServedFile>();
      for (const [index, { at, stored }] of job.files.entries()) {
        const file = files[index];
        if (!file) continue;
        const isDataUri = stored?.data_uri === true;
        const text = isDataUri
          ? await asDataUri(file.path, stored)
          : `${url}/${index}/${file.name}`;
        if (!isDataUri) served.set(text, file);
        input = replaceText(input, markedPath(at), text);
      }
      return { input, files: served, close };
    } catch (error) {
      close();
      throw error;
    }
  }

  /**
   * Waits for room while holding no file: two runs that each held some of their files would wait for each
   * other. Such runs then take turns, or they would collide again.
   */
  async #openWithRoom(job: RunnableJob, stop: AbortSignal): Promise<CachedFile[]> {
    let cached = await this.#openAll(job, PARALLEL, stop);
    while (cached instanceof CacheFull) {
      await this.#cache.waitForRoom(cached.bytes ?? this.#max, stop);
      // Files are opened one at a time: only then is it known exactly how much the run needs.
      cached = await this.#mutex.run(stop, () => this.#openAll(job, 1, stop));
    }
    return cached;
  }

  /**
   * Opens all files in order, or none: on failure the opened ones are released. CacheFull has the bytes that
   * the run needs as far as is known.
   */
  async #openAll(
    job: RunnableJob,
    parallel: number,
    stop: AbortSignal,
  ): Promise<CachedFile[] | CacheFull> {
    const failed = new AbortController();
    const signal = AbortSignal.any([stop, failed.signal]);
    const cached: CachedFile[] = [];
    const limit = pLimit(parallel);
    const open = (file: InputFile, index: number) =>
      limit(async () => {
        signal.throwIfAborted();
        cached[index] = await this.#openFile(job, file, signal);
        this.#check(bytesOf(cached));
      }).catch((error: unknown) => failed.abort(error));
    await Promise.all(job.files.map(open));
    if (!failed.signal.aborted) return cached;
    for (const one of cached) one?.release();
    const { reason } = failed.signal;
    if (!(reason instanceof CacheFull)) throw reason;
    const needed = reason.bytes === undefined ? undefined : bytesOf(cached) + reason.bytes;
    if (needed !== undefined) this.#check(needed);
    return new CacheFull(needed);
  }

  #check(bytes: number): void {
    if (bytes <= this.#max) return;
    const maxGb = gigabytes(this.#max);
    throw external(`the files of the input exceed this runner's limit of ${maxGb} GB in total`);
  }

  async #openFile(
    job: RunnableJob,
    { at, stored }: InputFile,
    signal: AbortSignal,
  ): Promise<CachedFile> {
    const text = textAt(job.input, at);
    try {
      if (stored) return await this.#stored.open(stored, job, signal);
      return await this.#web.open(text, job.keys.files, signal);
    } catch (error) {
      if (!(error instanceof Failure) || error instanceof CacheFull) throw error;
      throw new Failure(error.source, `${describePath(at)}: ${error.message}`, { cause: error });
    }
  }
}

/**
 * The bytes that the files take in the cache, where equal content is stored once. The array may
 * have gaps.
 */
function bytesOf(cached: CachedFile[]): number {
  const present = cached.filter(Boolean);
  const sizes = new Map(present.map(({ path, size }) => [path, size]));
  return [...sizes.values()].reduce((sum, size) => sum + size, present.length * RECORD_BYTES);
}

/** A file that was sent as a data URI becomes one again, whether or not its container takes URLs. */
const asDataUri = async (path: string, { mime_type }: StoredFile) =>
  dataUri(mime_type, await readFile(path, "base64"));

const servedFile = ({ path, size, info: { name, mime_type } }: CachedFile): ServedFile => ({
  path,
  size,
  mime_type,
  name: nameFor(name, mime_type),
});

type InputPath = InputFile["at"];

/** As a caller would write it: input.images[0]. */
function describePath(path: InputPath): string {
  const steps = path.map((step) => {
    if (typeof step === "number") return `[${step}]`;
    return /^[A-Za-z_]\w{0,99}$/.test(step)
      ? `.${step}`
      : `[${JSON.stringify(step.slice(0, 100))}]`;
  });
  return `input${steps.join("")}`.slice(0, 500);
}

/** The path in an input that was parsed exactly. */
const markedPath = (path: InputPath): InputPath =>
  path.map((step) => (typeof step === "string" ? markedName(step) : step));

/** @throws Failure if there is no text at the path */
export function textAt(input: Json, path: InputPath): string {
  let value: Json | undefined = input;
  for (const step of markedPath(path)) value = getChild(value, step);
  if (typeof value === "string") return value;
  throw internal(`${describePath(path)} should be a file and is not a string`);
}
