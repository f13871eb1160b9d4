/** Files stored in the service, fetched once per machine. */
import type { InputFile, Job } from "../../../src/protocol/runner.ts";
import { external, Failure, internal } from "../../../src/run/failure.ts";
import type { FileStore } from "../control-plane/client.ts";
import { retryCall } from "../control-plane/json-client.ts";
import { ControlPlaneError, isRetryable, reasonOf } from "../lib/error.ts";
import type { CachedFile, FileCache } from "./file-cache.ts";
import { SharedWork } from "./shared-work.ts";
import { IdleTimeout, limitTransfer, tooLarge } from "./transfer.ts";

export type StoredFile = NonNullable<InputFile["stored"]>;

/** The run that needs the file. */
type Requester = Pick<Job, "keys" | "lease">;

interface FileRequest {
  file: StoredFile;
  /** The name of the source in the cache. */
  source: string;
  leases: Iterable<string>;
}

const RETRY = { attempts: 4, baseMs: 250, maxMs: 4_000 };
/** A download ends after this long without a byte. */
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
    // Cached per account, so that the response time does not reveal to others whether someone has
    // used the file.
    const source = `stored:${keys.files}:${file.key}`;
    return this.#shared.join(source, lease, signal, async (stop, leases) => {
      // A key always names the same bytes, so a cached file needs no validation.
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
      const why = `the file ${request.file.name} could not be fetched from the service: ${reasonOf(error)}`;
      throw internal(why, { cause: error });
    }
  }

  async #attempt({ file, source, leases }: FileRequest, stop: AbortSignal): Promise<CachedFile> {
    const idle = new IdleTimeout(IDLE_TIMEOUT_MS);
    const signal = AbortSignal.any([stop, idle.signal]);
    try {
      const response = await this.#request(file.key, leases, signal);
      const body = limitTransfer({
        body: response,
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

  /** One participant's lease may be lost while another's is valid. */
  async #request(key: string, leases: Iterable<string>, signal: AbortSignal) {
    let refusal: unknown = external("the file is no longer needed");
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

/** A missing or incomplete response becomes an error that is retried. */
const toControlPlaneError = (error: unknown): ControlPlaneError =>
  error instanceof ControlPlaneError
    ? error
    : new ControlPlaneError("the response was incomplete", { cause: error });
