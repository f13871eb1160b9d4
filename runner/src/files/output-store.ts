/**
 * Stores the files and large values of one run in the control plane: several in parallel, with
 * retries.
 */
import { readFile } from "node:fs/promises";
import pLimit, { type LimitFunction } from "p-limit";
import { MAX_WHOLE_FILE } from "../../../src/protocol/runner.ts";
import { type Failure, internal } from "../../../src/run/failure.ts";
import type { FileStore } from "../control-plane/client.ts";
import { retryCall } from "../control-plane/json-client.ts";
import { reasonOf } from "../lib/error.ts";
import { sendParts } from "./send-parts.ts";
import type { ServedFile } from "./serve-files.ts";

/** Covers about 45 s of an unreachable service, while the run is over or continues. */
const RETRIES = { attempts: 8, baseMs: 500, maxMs: 15_000 };
/** Per run. Whole files, of up to 8 MiB each, are in memory while they are sent. */
const MAX_PARALLEL = 4;

export interface StoreOptions {
  files: FileStore;
  lease: string;
  stop: AbortSignal;
}

export class OutputStore {
  readonly #options: StoreOptions;
  #limit: LimitFunction | undefined;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  /**
   * @returns its URL
   * @throws Failure; the signal's reason
   */
  file(file: ServedFile): Promise<string> {
    const what = `the file ${file.name} (${file.size} bytes)`;
    return this.#store(what, () =>
      file.size > MAX_WHOLE_FILE ? this.#inParts(file) : this.#whole(file),
    );
  }

  /**
   * @returns its name
   * @throws Failure; the signal's reason
   */
  value(json: string): Promise<string> {
    const { files, lease, stop } = this.#options;
    const what = `an output value of ${json.length} characters`;
    return this.#store(what, () => this.#retry(() => files.storeValue(lease, json, stop)));
  }

  async #whole({ path, name, mime_type }: ServedFile): Promise<string> {
    const { files, lease, stop } = this.#options;
    const file = { name, mime_type, bytes: await readFile(path) };
    return (await this.#retry(() => files.storeFile(lease, file, stop))).url;
  }

  async #inParts({ path, name, mime_type, size }: ServedFile): Promise<string> {
    const { files, lease, stop } = this.#options;
    const description = { name, mime_type, size };
    const upload = await this.#retry(() => files.beginUpload(lease, description, stop));
    const { id, urls, part_size: partSize } = upload;
    const parts = { file: path, size, partSize, urls, parallel: MAX_PARALLEL, signal: stop };
    const etags = await sendParts(parts);
    return (await this.#retry(() => files.completeUpload(lease, id, etags, stop))).url;
  }

  #retry<T>(work: () => Promise<T>): Promise<T> {
    return retryCall(work, { ...RETRIES, signal: this.#options.stop });
  }

  #store<T>(what: string, work: () => Promise<T>): Promise<T> {
    const { stop } = this.#options;
    // The limit is made on demand: most runs store nothing.
    this.#limit ??= pLimit(MAX_PARALLEL);
    return this.#limit(async () => {
      try {
        stop.throwIfAborted();
        return await work();
      } catch (error) {
        stop.throwIfAborted();
        throw notStored(what, error);
      }
    });
  }
}

const notStored = (what: string, cause: unknown): Failure =>
  internal(`${what} could not be stored: ${reasonOf(cause)}`, { cause });
