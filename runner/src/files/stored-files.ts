/** Files of the service, read once per box. */
import type { InputFile, Job } from "../../../src/protocol/runner.ts";
import { external, Failure, internal } from "../containers/failure.ts";
import type { FileStore } from "../control-plane/client.ts";
import { ControlPlaneError, isRetryable, reasonOf } from "../control-plane/error.ts";
import { retry } from "../lib/retry.ts";
import type { FileCache, Held } from "./cache.ts";
import { Shared } from "./shared.ts";
import { Patience, tooLarge, transferred } from "./transfer.ts";

export type StoredFile = NonNullable<InputFile["stored"]>;

/** For whose run it is. */
type Asker = Pick<Job, "keys" | "lease">;

interface Wanted {
  file: StoredFile;
  /** What it is called in the cache. */
  source: string;
  leases: Iterable<string>;
}

const RETRY = { attempts: 4, base: 250, max: 4_000 };
/** Without a byte, ms. */
const SILENCE = 60_000;

export class StoredFiles {
  readonly #controlPlane: Pick<FileStore, "file">;
  readonly #cache: FileCache;
  readonly #max: number;
  readonly #shared = new Shared<Held, string>();

  constructor(controlPlane: Pick<FileStore, "file">, cache: FileCache, max: number) {
    this.#controlPlane = controlPlane;
    this.#cache = cache;
    this.#max = max;
  }

  /** @throws Failure; the signal's reason */
  async open(file: StoredFile, { keys, lease }: Asker, signal: AbortSignal): Promise<Held> {
    if (file.size > this.#max) throw tooLarge(this.#max);
    // Others who may read it too are not to notice, by the time that it takes, that somebody has.
    const source = `stored:${keys.files}:${file.key}`;
    return this.#shared.join(source, lease, signal, async (stop, leases) => {
      // A key never names other bytes, so what is there needs no question.
      const there = await this.#cache.find(source);
      return there ?? this.#fetch({ file, source, leases }, stop);
    });
  }

  async #fetch(wanted: Wanted, stop: AbortSignal): Promise<Held> {
    try {
      return await retry(() => this.#attempt(wanted, stop), { ...RETRY, signal: stop });
    } catch (error) {
      stop.throwIfAborted();
      if (error instanceof Failure) throw error;
      const why = `the service did not hand out the file ${wanted.file.name}: ${reasonOf(error)}`;
      throw internal(why, { cause: error });
    }
  }

  async #attempt({ file, source, leases }: Wanted, stop: AbortSignal): Promise<Held> {
    const patience = new Patience(SILENCE);
    const signal = AbortSignal.any([stop, patience.signal]);
    try {
      const response = await this.#ask(file.key, leases, signal);
      const body = transferred({
        body: response.body ?? new Blob([]).stream(),
        max: this.#max,
        expected: file.size,
        onBytes: patience.refresh,
        asTrouble,
      });
      const { name, mime_type } = file;
      return await this.#cache.store(source, { name, mime_type }, body, file.size);
    } finally {
      patience.end();
    }
  }

  /** The lease of one who waits may be lost while that of another is not. */
  async #ask(key: string, leases: Iterable<string>, signal: AbortSignal): Promise<Response> {
    let refusal: unknown = external("nobody waits for the file any more");
    for (const lease of leases) {
      try {
        return await this.#controlPlane.file(lease, key, signal);
      } catch (error) {
        refusal = asTrouble(error);
        if (isRetryable(refusal)) break;
      }
    }
    throw refusal;
  }
}

/** No answer, or one that ended too soon: it may be had another time. */
const asTrouble = (error: unknown): ControlPlaneError =>
  error instanceof ControlPlaneError
    ? error
    : new ControlPlaneError("it did not come whole", { cause: error });
