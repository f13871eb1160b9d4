/** Fetches files of weights into the store. Containers that need the same file share the work. */
import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import pLimit from "p-limit";
import { external, Failure, internal } from "../../../src/run/failure.ts";
import { retryCall } from "../control-plane/json-client.ts";
import { asDiskFailure } from "../files/cache-folder.ts";
import { SharedWork } from "../files/shared-work.ts";
import { isRetryable, reasonOf, statusOf } from "../lib/error.ts";
import { Downloads } from "./downloads.ts";
import { PartialFile } from "./partial-file.ts";
import type { WeightProgress } from "./progress.ts";
import type { rangeBytes } from "./range-plan.ts";
import { type FileSource, requestWhole } from "./range-request.ts";
import { unpackLayer } from "./unpack-layer.ts";
import type { LayerFile, WeightLayer } from "./weight-manifest.ts";
import type { HeldFiles, WantedFile, WeightStore } from "./weight-store.ts";

/** Files and layers at once: a layer that is unpacked keeps a core busy. */
export const AT_ONCE = 4;

const RETRY = { attempts: 4, baseMs: 250, maxMs: 4_000 };

/** A file of the deployment, as the store names it. */
export interface RemoteFile extends WantedFile {
  account: string;
  source: FileSource;
}

/** The files that are held, and the progress and the signal of the start that waits for them. */
export interface FetchContext {
  held: HeldFiles;
  progress: WeightProgress;
  signal: AbortSignal;
}

/** A start that waits for a file. */
type Waiter = Pick<RemoteFile, "source"> & Pick<FetchContext, "progress">;

type Step = (signal: AbortSignal) => Promise<void>;

interface Work {
  /** Whether another start has done the work meanwhile. */
  isDone: () => boolean;
  /** @param fetch brings what is missing */
  run: (partial: PartialFile, fetch: Step, stop: AbortSignal) => Promise<void>;
}

const DONE = { release() {} };

export class WeightFetcher {
  readonly #store: WeightStore;
  readonly #downloads = new Downloads();
  readonly #shared = new SharedWork<typeof DONE, Waiter>();
  readonly #limit = pLimit(AT_ONCE);

  readonly #rangeBytes: typeof rangeBytes;

  constructor(store: WeightStore, bytesOfRange: typeof rangeBytes) {
    this.#store = store;
    this.#rangeBytes = bytesOfRange;
  }

  /** Fetches a file, unless it is there. @throws Failure; the signal's reason */
  file(file: RemoteFile, context: FetchContext): Promise<void> {
    const { held } = context;
    const { name } = file;
    return this.#limit(() =>
      this.#share(file, context, {
        isDone: () => held.isComplete(name),
        run: async (partial, fetch, stop) => {
          await fetch(stop);
          await partial.finish(held.path(name));
          await held.completed(name);
        },
      }),
    );
  }

  /**
   * Fetches the missing files of a layer. The layer itself is not compared with its digest: each of its files
   * has one.
   * @param nameOf the name of a file in the store, by its digest
   * @throws as file
   */
  layer(
    layer: WeightLayer,
    nameOf: (digest: string) => string,
    file: RemoteFile,
    context: FetchContext,
  ): Promise<void> {
    const { held } = context;
    const targetOf = ({ digest }: LayerFile) => {
      const name = nameOf(digest);
      if (held.isComplete(name)) return undefined;
      return { temporary: this.#store.folder.temporary(), path: held.path(name) };
    };
    const onFile = ({ digest }: LayerFile) => held.completed(nameOf(digest));
    return this.#limit(async () => {
      held.begin(file);
      await this.#share(file, context, {
        isDone: () => layer.files.every(({ digest }) => held.isComplete(nameOf(digest))),
        run: (partial, fetch, stop) => {
          const unpack: Step = (signal) =>
            unpackLayer({ layer, bytes: partial.read(signal), targetOf, onFile });
          return together([fetch, unpack], stop);
        },
      });
      held.drop(file.name);
    });
  }

  /** A small file, as a whole. Its name is its digest. @throws as file */
  async small({ account, name, source }: Omit<RemoteFile, "size">, max: number, stop: AbortSignal) {
    const known = this.#store.sizeOf(account, name);
    if (known !== undefined && known <= max) {
      const held = await this.#holdOne(account, { name, size: known }, stop);
      const bytes = await readFile(held.path(name)).catch(() => held.drop(name));
      held.release();
      if (bytes) return bytes;
    }
    const bytes = await this.#request(source, max, stop);
    const digest = createHash("sha256").update(bytes).digest("hex");
    if (digest !== name) throw external("its content does not match its digest");
    const held = await this.#holdOne(account, { name, size: bytes.length }, stop);
    try {
      const temporary = this.#store.folder.temporary();
      await writeFile(temporary, bytes, { mode: 0o444, flush: true });
      await rename(temporary, held.path(name));
      await held.completed(name);
      return bytes;
    } catch (error) {
      throw asDiskFailure(error);
    } finally {
      held.release();
    }
  }

  #holdOne(account: string, file: WantedFile, signal: AbortSignal): Promise<HeldFiles> {
    const demand = () => ({ files: [file], spare: 0 });
    return this.#store.hold(account, demand, { signal, onWait() {} });
  }

  async #request(source: FileSource, max: number, signal: AbortSignal): Promise<Buffer> {
    try {
      return await retryCall(() => requestWhole(source, max, signal), { ...RETRY, signal });
    } catch (error) {
      signal.throwIfAborted();
      throw asFetchFailure(error);
    }
  }

  async #share(file: RemoteFile, context: FetchContext, work: Work): Promise<void> {
    const { account, name, source } = file;
    const { held, progress, signal } = context;
    // The progress reports the size that is to come before the first byte.
    progress.add(0);
    try {
      const waiter = { source, progress };
      const shared = await this.#shared.join(`${account}/${name}`, waiter, signal, (stop, all) =>
        this.#fetch(file, held, work, stop, all),
      );
      shared.release();
    } catch (error) {
      // The bytes that have come are wrong, or a part of a file that is not available any more.
      if (error instanceof Failure && error.source === "external") held.drop(name);
      throw error;
    }
  }

  async #fetch(
    { name, size }: RemoteFile,
    held: HeldFiles,
    work: Work,
    stop: AbortSignal,
    waiters: Iterable<Waiter>,
  ): Promise<typeof DONE> {
    if (work.isDone()) return DONE;
    let partial: PartialFile | undefined;
    const onBytes = (bytes: number) => {
      for (const { progress } of waiters) progress.add(bytes);
    };
    const sources = {
      *[Symbol.iterator]() {
        for (const { source } of waiters) yield source;
      },
    };
    try {
      const opened = await PartialFile.open(held.path(name), size, this.#rangeBytes(size));
      partial = opened;
      onBytes(opened.come);
      const fetch: Step = (signal) => this.#downloads.fetch(opened, { sources, onBytes, signal });
      await work.run(opened, fetch, stop);
      return DONE;
    } catch (error) {
      stop.throwIfAborted();
      throw asFetchFailure(asDiskFailure(error));
    } finally {
      await partial?.close();
    }
  }
}

/** Ends all steps when one fails, and waits for them. @throws the first error, or the signal's reason */
async function together(steps: Step[], stop: AbortSignal): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([stop, failed.signal]);
  const running = steps.map((step) => step(signal).catch((error: unknown) => failed.abort(error)));
  await Promise.all(running);
  signal.throwIfAborted();
}

function asFetchFailure(error: unknown): unknown {
  const status = statusOf(error);
  if (status === undefined && !isRetryable(error)) return error;
  return status === 404
    ? external("the deployment no longer has it. Publish a new version with it", {
        cause: error,
      })
    : internal(`it could not be fetched from the service: ${reasonOf(error)}`, { cause: error });
}
