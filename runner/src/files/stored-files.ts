/** Files of the service, read once per box. */
import type { InputFile, Job } from "../../../src/protocol/runner.ts";
import { external, Failure, internal } from "../containers/failure.ts";
import type { FileStore } from "../control-plane/client.ts";
import { ControlPlaneError, isRetryable, reasonOf } from "../control-plane/error.ts";
import { retryCall } from "../control-plane/retry.ts";
import type { CachedFile, FileCache } from "./file-cache.ts";
import { SharedWork } from "./shared-work.ts";
import { IdleTimeout, limitTransfer, tooLarge } from "./transfer.ts";

export type StoredFile = NonNullable<InputFile["stored"]>;

/** For whose run it is. */
type Requester = Pick<Job, "keys" | "lease">;

interface FileRequest {
  file: StoredFile;
  /** What it is called in the cache. */
  source: string;
  leases: Iterable<string>;
}

const RETRY = { attempts: 4, baseMs: 250, maxMs: 4_000 };
/** Without a byte, ms. */
const IDLE_TIMEOUT_MS = 60_000;

export class StoredFiles {
  readonly #controlPlane: Pick<FileStore, "file">;
  readonly #cache: FileCache;
  readonly #max: number;
  readonly #shared = new SharedWork<CachedFile, string>();

  constructor(controlPlane: Pick<FileStore, "file">, cache: FileCache, max: number) {
    this.#controlPlane = controlPlane;
    this.#cache = cache;
    this.#max = max;
  }

  /** @throws Failure; the signal's reason */
  async open(
    file: StoredFile,
    { keys, lease }: Requester,
    signal: AbortSignal,
  ): Promise<CachedFile> {
    if (file.size > this.#max) throw tooLarge(this.#max);
    // Others who may read it too are not to notice, by the time that it takes, that somebody has.
    const source = `stored:${keys.files}:${file.key}`;
    return this.#shared.join(source, lease, signal, async (stop, leases) => {
      // A key never names other bytes, so what is there needs no question.
      const cached = await this.#cache.find(source);
      return cached ?? this.#fetch({ file, source, leases }, stop);
    });
  }

  async #fetch(request: FileRequest, stop: AbortSignal): Promise<CachedFile> {
    try {
      return await retryCall(() => this.#attempt(request, stop), { ...RETRY, signal: stop });
    } catch (error) {
      stop.throwIfAborted();
      if (error instanceof Failure) throw error;
      const why = `the service did not hand out the file ${request.file.name}: ${reasonOf(error)}`;
      throw internal(why, { cause: error });
    }
  }

  async #attempt({ file, source, leases }: FileRequest, stop: AbortSignal): Promise<CachedFile> {
    const idle = new IdleTimeout(IDLE_TIMEOUT_MS);
    const signal = AbortSignal.any([stop, idle.signal]);
    try {
      const response = await this.#request(file.key, leases, signal);
      const body = limitTransfer({
        body: response.body ?? new Blob([]).stream(),
        maxBytes: this.#max,
        expected: file.size,
        onBytes: idle.refresh,
        toError: toControlPlaneError,
      });
      const { name, mime_type } = file;
      return await this.#cache.store(source, { name, mime_type }, body, file.size);
    } finally {
      idle.end();
    }
  }

  /** The lease of one who waits may be lost while that of another is not. */
  async #request(key: string, leases: Iterable<string>, signal: AbortSignal): Promise<Response> {
    let refusal: unknown = external("nobody waits for the file any more");
    for (const lease of leases) {
      try {
        return await this.#controlPlane.file(lease, key, signal);
      } catch (error) {
        refusal = toControlPlaneError(error);
        if (isRetryable(refusal)) break;
      }
    }
    throw refusal;
  }
}

/** No answer, or one that ended too soon: it may be had another time. */
const toControlPlaneError = (error: unknown): ControlPlaneError =>
  error instanceof ControlPlaneError
    ? error
    : new ControlPlaneError("it did not come whole", { cause: error });
