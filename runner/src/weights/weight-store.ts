/**
 * Weights on disk, by account and content. Their size is bounded: the least recently used files are removed
 * first, and never one that is held. The files of a container are held all together or not at all: two starts
 * that each held half of the room would wait for each other.
 */
import { untilAborted } from "../../../src/lib/timeout.ts";
import { external, internal, ofMachine } from "../../../src/run/failure.ts";
import type { Evictable } from "../disk/evictable.ts";
import { gigabytes } from "../files/transfer.ts";
import { messageOf } from "../lib/error.ts";
import type { Log } from "../lib/log.ts";
import { type StoredFile, StoreFolder } from "./store-folder.ts";

/** A file of an account, by its name in the store, with the size that is declared for it. */
export interface WantedFile {
  name: string;
  size: number;
}

interface Entry extends Pick<StoredFile, "account" | "name" | "size" | "isComplete" | "usedAt"> {
  holders: number;
}

/** Bytes that a file takes besides its content: its inode, and the rest of its last block. */
export const ENTRY_BYTES = 4_096;

/** The part of the disk that stays free for everything else on it. */
const SPARE_FRACTION = 0.05;
const MAX_SPARE_BYTES = 20 * 1024 ** 3;

const keyOf = (account: string, name: string) => `${account}/${name}`;
const isIdle = ({ holders }: Entry) => holders === 0;
const bytesOf = ({ size }: WantedFile) => size + ENTRY_BYTES;

/** A file that can be removed, since it can be fetched again. Its size is the most that it will take. */
export type StoredWeight = Evictable & { kind: "weights" };

/** The files and the room that a container needs. */
export interface Demand {
  files: WantedFile[];
  /** Bytes of files that are only needed until the others are there. */
  spare: number;
}

/** Files that stay until they are released. */
export interface HeldFiles {
  isComplete(name: string): boolean;
  /** The path of a complete file; the names of an incomplete one's files begin with it. */
  path(name: string): string;
  /** To be called when a file has come and is verified. */
  completed(name: string): Promise<void>;
  /** Also holds a file that is only needed until other files are there. */
  begin(file: WantedFile): void;
  /** Removes the bytes of a file that is not needed any more, or that is wrong. */
  drop(name: string): void;
  /** Takes out a file that changed on the disk, even if others hold it: they have their own copies. */
  lost(name: string): void;
  release(): void;
}

export class WeightStore {
  readonly folder: StoreFolder;
  readonly #maxBytes: number;
  readonly #log: Log;
  /** The entries in order of last use. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  #change = Promise.withResolvers<void>();

  constructor(root: string, maxBytes: number, log: Log) {
    this.folder = new StoreFolder(root);
    this.#maxBytes = maxBytes;
    this.#log = log;
  }

  /** Loads the files that an earlier process has left. */
  async start(): Promise<void> {
    try {
      await this.folder.create();
      for (const file of await this.folder.list()) this.#add({ ...file, holders: 0 });
      this.#makeRoom(0, this.#maxBytes);
    } catch (cause) {
      const why = `${this.folder.root} cannot be used for weights: ${messageOf(cause)}`;
      throw internal(`${why}. Set another directory with --state`, { cause });
    }
  }

  /** Returns all files, for the code that makes room on the disk. */
  list(): StoredWeight[] {
    return [...this.#entries.values()].map((entry) => ({
      kind: "weights",
      name: `${entry.account.slice(0, 12)}/${entry.name}`,
      size: bytesOf(entry),
      lastUsed: entry.usedAt,
      inUse: !isIdle(entry),
      remove: async () => {
        if (!this.#isThere(entry) || !isIdle(entry)) return false;
        this.#remove(entry);
        return true;
      },
    }));
  }

  /** Returns the size of a complete file; undefined if it is not there. */
  sizeOf(account: string, name: string): number | undefined {
    const entry = this.#entries.get(keyOf(account, name));
    return entry?.isComplete ? entry.size : undefined;
  }

  /**
   * Holds files, whether or not they have come, and waits until there is room for the missing ones.
   * @param demand asked for again after waiting: files may have come or gone
   * @param onWait called when it begins to wait
   * @throws Failure if there can be none; the signal's reason
   */
  async hold(
    account: string,
    demand: () => Demand,
    { signal, onWait }: { signal: AbortSignal; onWait: () => void },
  ): Promise<HeldFiles> {
    await this.folder.makeAccount(account);
    for (;;) {
      const max = await this.#room();
      signal.throwIfAborted();
      const { files, spare } = demand();
      const total = files.reduce((sum, file) => sum + bytesOf(file), spare);
      if (total > this.#maxBytes) throw tooLarge(total, this.#maxBytes);
      const entries = this.#tryHold(account, { files, spare }, max);
      if (entries) return this.#held(account, entries, spare);
      // Waiting is useless if no container holds weights: the disk is full of other things.
      if ([...this.#entries.values()].every(isIdle)) throw diskFull(total);
      onWait();
      await untilAborted(this.#change.promise, signal);
    }
  }

  /** Returns the bytes that the store may have now: its own and the disk's free bytes, less the spare. */
  async #room(): Promise<number> {
    const { free, total } = await this.folder.freeBytes();
    const spare = Math.min(total * SPARE_FRACTION, MAX_SPARE_BYTES);
    // Bytes of incomplete files count as free: their room was taken when the files were expected.
    const there = [...this.#entries.values()].filter(({ isComplete }) => isComplete);
    const used = there.reduce((sum, entry) => sum + bytesOf(entry), 0);
    return Math.min(this.#maxBytes, used + free - spare);
  }

  #tryHold(account: string, { files, spare }: Demand, max: number): Entry[] | undefined {
    const wanted = [...new Map(files.map((file) => [file.name, file])).values()];
    const found = wanted.map((file) => this.#usable(account, file));
    const missing = wanted.filter((_, n) => !found[n]);
    const there = found.filter((entry) => entry !== undefined);
    for (const entry of there) entry.holders++;
    const needed = missing.reduce((sum, file) => sum + bytesOf(file), spare);
    // Files that are there need no room, however full the disk may be.
    if (needed > 0 && !this.#makeRoom(needed, max)) {
      for (const entry of there) entry.holders--;
      return undefined;
    }
    this.#bytes += spare;
    return [...there, ...missing.map((file) => this.#expect(account, file))];
  }

  #expect(account: string, { name, size }: WantedFile): Entry {
    const usedAt = Date.now();
    return this.#add({ account, name, size, isComplete: false, usedAt, holders: 1 });
  }

  /** Returns the file's entry if it has this size, which is only declared: an earlier one may differ. */
  #usable(account: string, { name, size }: WantedFile): Entry | undefined {
    const entry = this.#entries.get(keyOf(account, name));
    if (!entry || entry.size === size) return entry;
    if (entry.isComplete || entry.holders > 0) throw otherSize(size);
    this.#remove(entry, "its declared size changed");
    return undefined;
  }

  #held(account: string, entries: Entry[], spare: number): HeldFiles {
    const byName = new Map(entries.map((entry) => [entry.name, entry]));
    const path = (name: string) => this.folder.path(account, name);
    /** How much of the spare room is not in use. */
    let left = spare;
    const take = (bytes: number) => {
      left -= bytes;
      this.#bytes -= bytes;
    };
    return {
      path,
      isComplete: (name) => byName.get(name)?.isComplete === true,
      completed: async (name) => {
        const entry = byName.get(name);
        if (entry) entry.isComplete = true;
        await this.folder.touch(path(name));
      },
      begin: (file) => {
        const known = this.#usable(account, file);
        if (known) known.holders++;
        else take(bytesOf(file));
        byName.set(file.name, known ?? this.#expect(account, file));
      },
      drop: (name) => {
        const entry = byName.get(name);
        if (!entry || !byName.delete(name)) return;
        entry.holders--;
        if (entry.holders > 0) return;
        this.#remove(entry);
        // The next file takes the room of this one.
        if (left < spare) take(-Math.min(bytesOf(entry), spare - left));
      },
      lost: (name) => {
        const entry = byName.get(name);
        if (!entry) return;
        byName.delete(name);
        entry.holders--;
        this.#remove(entry);
      },
      release: () => {
        for (const entry of byName.values()) this.#release(entry);
        byName.clear();
        take(left);
        this.#changed();
      },
    };
  }

  #release(entry: Entry): void {
    entry.holders--;
    this.#used(entry);
  }

  #used(entry: Entry): void {
    const { account, name } = entry;
    entry.usedAt = Date.now();
    if (!this.#isThere(entry)) return;
    const key = keyOf(account, name);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    // A failure is ignored: the time only orders the files in the next process.
    if (entry.isComplete) this.folder.touch(this.folder.path(account, name)).catch(() => {});
  }

  /** Returns false for an entry that was lost, even if another entry has its place by now. */
  #isThere(entry: Entry): boolean {
    return this.#entries.get(keyOf(entry.account, entry.name)) === entry;
  }

  #add(entry: Entry): Entry {
    this.#entries.set(keyOf(entry.account, entry.name), entry);
    this.#bytes += bytesOf(entry);
    return entry;
  }

  /** @returns whether there is room for this many more bytes */
  #makeRoom(bytes: number, max: number): boolean {
    const idle = [...this.#entries.values()].filter(isIdle);
    // No file is removed if all idle files together would not make enough room.
    const least = this.#bytes - idle.reduce((sum, entry) => sum + bytesOf(entry), 0);
    if (least + bytes > max) return false;
    for (const entry of idle) {
      if (this.#bytes + bytes <= max) break;
      this.#remove(entry, "least recently used, and its space is needed");
    }
    return true;
  }

  #remove(entry: Entry, because?: string): void {
    if (!this.#isThere(entry)) return;
    const { account, name, usedAt } = entry;
    this.#entries.delete(keyOf(account, name));
    this.#bytes -= bytesOf(entry);
    this.folder.discard(account, name);
    this.#changed();
    if (because === undefined) return;
    const last_use = new Date(usedAt).toISOString();
    const gb = gigabytes(entry.size);
    this.#log.info("removed weights", { file: name.slice(0, 12), gb, last_use, because });
  }

  #changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

const tooLarge = (bytes: number, max: number) =>
  internal(
    `the version's weights need ${gigabytes(bytes)} GB, more than the runner's limit of ${gigabytes(max)} GB. The operator can raise --weights-gb`,
  );

const diskFull = (bytes: number) =>
  ofMachine(
    `the disk of the runner's machine has no room for ${gigabytes(bytes)} GB of weights. The operator must free space, or set another directory with --state`,
  );

const otherSize = (size: number) =>
  external(`one of the weights does not have the declared size of ${size} bytes`);
