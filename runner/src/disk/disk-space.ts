/**
 * Keeps part of the disk free: when less is free, the least recently used images and weights are removed. The
 * log names each removal and its reason.
 */
import { stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { DiskUse } from "../../../src/protocol/runner-state.ts";
import { gigabytes } from "../files/transfer.ts";
import { messageOf } from "../lib/error.ts";
import type { Log } from "../lib/log.ts";
import { Mutex } from "../lib/mutex.ts";
import { type Evictable, type EvictionSource, evictionOrder } from "./evictable.ts";

export interface DiskSpaceOptions {
  /** Rejects if the usage cannot be read. */
  usage: () => Promise<DiskUse>;
  keptFree: number;
  log: Log;
}

export class DiskSpace {
  readonly #options: DiskSpaceOptions;
  readonly #sources: EvictionSource[] = [];
  readonly #removing = new Mutex();
  /** Whether the log already says that there is nothing left to remove. */
  #hasWarned = false;

  constructor(options: DiskSpaceOptions) {
    this.#options = options;
  }

  add(...sources: readonly EvictionSource[]): void {
    this.#sources.push(...sources);
  }

  /** To be called regularly. @throws the signal's reason */
  async watch(signal: AbortSignal): Promise<void> {
    const { usage, keptFree, log } = this.#options;
    const { free } = await usage();
    if (free >= keptFree) {
      this.#hasWarned = false;
      return;
    }
    const hasRoom = await this.#free(keptFree, "the disk is nearly full", signal);
    if (hasRoom || this.#hasWarned) return;
    this.#hasWarned = true;
    log.warn("the disk is nearly full, and this runner has nothing left to remove", {
      free_gb: gigabytes((await usage()).free),
      wanted_gb: gigabytes(keptFree),
    });
  }

  /** Whether `bytes` can be stored in addition to the space that is kept free. */
  async hasRoom(bytes: number): Promise<boolean> {
    return (await this.#options.usage()).free >= bytes + this.#options.keptFree;
  }

  async isMostlyFree(): Promise<boolean> {
    const { free, total } = await this.#options.usage();
    return free > 0.8 * total;
  }

  /**
   * Makes room for `bytes` in addition to the space that is kept free.
   * @param bytes Infinity: as much as possible
   * @returns whether something was removed, or nothing had to be
   * @throws the signal's reason
   */
  async makeRoom(bytes: number, why: string, signal: AbortSignal): Promise<boolean> {
    const { free } = await this.#options.usage();
    const hasRoom = await this.#free(bytes + this.#options.keptFree, why, signal);
    return hasRoom || (await this.#options.usage()).free > free;
  }

  #free(wanted: number, why: string, signal: AbortSignal): Promise<boolean> {
    return this.#removing.run(signal, async () => {
      const tried = new Set<string>();
      for (;;) {
        signal.throwIfAborted();
        const { free } = await this.#options.usage();
        if (free >= wanted) return true;
        // The lists are read again each time: jobs come and go while something large is removed.
        const lists = await Promise.all(this.#sources.map((source) => source.evictables()));
        const next = evictionOrder(lists.flat()).find(({ name }) => !tried.has(name));
        if (!next) return false;
        tried.add(next.name);
        await this.#remove(next, { free, wanted, why });
      }
    });
  }

  async #remove(
    item: Evictable,
    { free, wanted, why }: { free: number; wanted: number; why: string },
  ): Promise<void> {
    const { log, usage } = this.#options;
    const { kind, name, size, lastUsed } = item;
    const fields = { why, [kind]: name, size_gb: gigabytes(size) };
    try {
      if (!(await item.remove())) return;
      log.info(`removed ${kind}`, {
        ...fields,
        last_used: new Date(lastUsed).toISOString(),
        free_before_gb: gigabytes(free),
        free_after_gb: gigabytes((await usage()).free),
        ...(Number.isFinite(wanted) && { wanted_gb: gigabytes(wanted) }),
      });
    } catch (error) {
      log.warn(`could not remove ${kind}`, { ...fields, error: messageOf(error) });
    }
  }
}

/** Returns the usage of the fullest disk that has one of these folders; missing folders are ignored. */
export async function diskUsage(folders: readonly string[]): Promise<DiskUse> {
  const found = await Promise.allSettled(folders.map((folder) => statfs(folder)));
  const usages = found.flatMap((one) => {
    if (one.status === "rejected") return [];
    const { bavail, blocks, bsize } = one.value;
    return [{ free: bavail * bsize, total: blocks * bsize }];
  });
  const [fullest] = usages.sort((a, b) => a.free - b.free);
  if (!fullest) throw new Error(`none of these folders exists: ${folders.join(", ")}`);
  return fullest;
}

/** Returns the sources on the same disk as one of these folders, which may not exist yet. */
export async function onDiskOf(
  folders: readonly string[],
  sources: readonly EvictionSource[],
): Promise<EvictionSource[]> {
  const disks = new Set(await Promise.all(folders.map(diskOf)));
  disks.delete(undefined);
  const found = await Promise.all(sources.map(({ folder }) => diskOf(folder)));
  return sources.filter((_, at) => disks.has(found[at]));
}

/** Returns the device ID of a folder, or of its nearest existing parent; undefined if it cannot be read. */
async function diskOf(folder: string): Promise<number | undefined> {
  try {
    return (await stat(folder)).dev;
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    const above = dirname(folder);
    return isMissing && above !== folder ? diskOf(above) : undefined;
  }
}
