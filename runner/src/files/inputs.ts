/** The files of an input, brought within reach of the container that is to read them. */
import type { Json } from "../../../src/protocol/common.ts";
import type { InputFile } from "../../../src/protocol/runner.ts";
import type { CallbackServer } from "../containers/callback-server.ts";
import { external, Failure } from "../containers/failure.ts";
import type { FileStore } from "../control-plane/client.ts";
import type { RunnableJob } from "../jobs/executor.ts";
import { Mutex } from "../lib/mutex.ts";
import { FileCache, type Held } from "./cache.ts";
import { NoRoom } from "./cache-failure.ts";
import { RECORD_BYTES } from "./cache-record.ts";
import { nameFor } from "./file-name.ts";
import { describePath, textAt, withText } from "./input-path.ts";
import { Reach } from "./public-address.ts";
import { PublicFetch } from "./public-fetch.ts";
import { type ServedFile, serveFiles } from "./serve.ts";
import { StoredFiles } from "./stored-files.ts";
import { gigabytes } from "./transfer.ts";
import { WebFiles } from "./web-files.ts";

export interface FileOptions {
  /** A folder that no other runner uses. */
  cache: string;
  /** What all files in it may take together. */
  cache_bytes: number;
  /** How long they stay after their last use. */
  cache_ms: number;
  max_file_bytes: number;
  /** Ranges that are not public (CIDR) and may be fetched from all the same, also over http. */
  fetch_allow: string[];
}

/** An input in which each file is an address that the container can fetch, until it is closed. */
export interface ReachableInput {
  input: Record<string, Json>;
  close(): void;
}

/** Files of one run that are on their way at a time. */
const PARALLEL = 4;

export class InputFiles {
  readonly #door: CallbackServer;
  readonly #cache: FileCache;
  /** Bytes that the files of one run may take, so that none has all the room to itself. */
  readonly #max: number;
  readonly #turns = new Mutex();
  readonly #stored: StoredFiles;
  readonly #web: WebFiles;

  constructor(door: CallbackServer, controlPlane: Pick<FileStore, "file">, options: FileOptions) {
    this.#door = door;
    const { cache_bytes: bytes, cache_ms: age } = options;
    this.#cache = new FileCache(options.cache, { bytes, age });
    this.#max = Math.floor(bytes / 2);
    // What a run cannot have at all need not be begun.
    const max = Math.min(options.max_file_bytes, this.#max - RECORD_BYTES);
    this.#stored = new StoredFiles(controlPlane, this.#cache, max);
    this.#web = new WebFiles(new PublicFetch(new Reach(options.fetch_allow)), this.#cache, max);
  }

  /** Before the first run. */
  start(): Promise<void> {
    return this.#cache.start();
  }

  /** @throws Failure for a file that cannot be had; the signal's reason */
  async open(job: RunnableJob, stop: AbortSignal): Promise<ReachableInput> {
    if (job.files.length === 0) return { input: job.input, close() {} };
    const held = await this.#hold(job, stop);
    const files = held.map(served);
    const end = new AbortController();
    const { url, close } = this.#door.open(serveFiles(files, end.signal));
    let { input } = job;
    for (const [index, { at }] of job.files.entries()) {
      input = withText(input, at, `${url}/${index}/${files[index]?.name}`);
    }
    return {
      input,
      close() {
        close();
        end.abort();
        for (const one of held) one.release();
      },
    };
  }

  /**
   * Without room it is waited for, and nothing held meanwhile: two runs that each had a part of
   * what they want would wait for each other. Then one after the other, or they would meet again.
   */
  async #hold(job: RunnableJob, stop: AbortSignal): Promise<Held[]> {
    let held = await this.#all(job, PARALLEL, stop);
    while (held instanceof NoRoom) {
      await this.#cache.room(held.bytes ?? this.#max, stop);
      // One file at a time: only then is it exact what the run needs.
      held = await this.#turns.take(stop, () => this.#all(job, 1, stop));
    }
    return held;
  }

  /**
   * All of them, in their order, or none: then those that are here are let go of. NoRoom says what
   * the run needs as far as it has come.
   */
  async #all(job: RunnableJob, parallel: number, stop: AbortSignal): Promise<Held[] | NoRoom> {
    const broken = new AbortController();
    const signal = AbortSignal.any([stop, broken.signal]);
    const held: Held[] = [];
    const waiting = job.files.entries();
    const work = async () => {
      for (const [index, file] of waiting) {
        held[index] = await this.#one(job, file, signal);
        this.#check(bytesOf(held));
      }
    };
    const fail = (error: unknown) => broken.abort(error);
    await Promise.all(Array.from({ length: parallel }, () => work().catch(fail)));
    if (!broken.signal.aborted) return held;
    for (const one of held) one?.release();
    const { reason } = broken.signal;
    if (!(reason instanceof NoRoom)) throw reason;
    const needed = reason.bytes === undefined ? undefined : bytesOf(held) + reason.bytes;
    if (needed !== undefined) this.#check(needed);
    return new NoRoom(needed);
  }

  #check(bytes: number): void {
    if (bytes <= this.#max) return;
    const most = gigabytes(this.#max);
    throw external(
      `the files of the input are larger than the ${most} GB together that this runner takes`,
    );
  }

  async #one(job: RunnableJob, { at, stored }: InputFile, signal: AbortSignal): Promise<Held> {
    const text = textAt(job.input, at);
    try {
      if (stored) return await this.#stored.open(stored, job, signal);
      return await this.#web.open(text, job.keys.files, signal);
    } catch (error) {
      if (!(error instanceof Failure) || error instanceof NoRoom) throw error;
      throw new Failure(error.source, `${describePath(at)}: ${error.message}`, { cause: error });
    }
  }
}

/** What they take of the cache, where the same content is there once. There may be gaps. */
function bytesOf(held: Held[]): number {
  const there = held.filter(Boolean);
  const sizes = new Map(there.map(({ path, size }) => [path, size]));
  return [...sizes.values()].reduce((sum, size) => sum + size, there.length * RECORD_BYTES);
}

const served = ({ path, size, facts: { name, mime_type } }: Held): ServedFile => ({
  path,
  size,
  mime_type,
  name: nameFor(name, mime_type),
});
