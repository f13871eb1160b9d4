/**
 * A cache of files on disk by content, and of which source last had which content. Its size is
 * bounded: the least recently used source is evicted first, a file in use never. Sources are also
 * removed after a maximum age, since the files belong to users.
 */
import { createHash } from "node:crypto";
import { renameSync } from "node:fs";
import { rm, stat, utimes, writeFile } from "node:fs/promises";
import { untilAborted } from "../../../src/lib/timeout.ts";
import { internal } from "../../../src/run/failure.ts";
import { messageOf } from "../lib/error.ts";
import {
  asDiskFailure,
  type CachedSource,
  CacheFolder,
  CacheFull,
  type FileInfo,
  RECORD_BYTES,
  type Source,
} from "./cache-folder.ts";

export interface CacheLimits {
  /** The limit of all files in the directory. */
  bytes: number;
  /** The maximum time since the last use of a source. */
  ageMs: number;
}

/** A file that is kept until it is released. */
export interface CachedFile {
  path: string;
  size: number;
  info: FileInfo;
  release(): void;
}

interface Content {
  size: number;
  sources: number;
  holders: number;
}

/** How much longer than the maximum age a source may be kept. */
const SWEEP_INTERVAL_MS = 600_000;

export class FileCache {
  readonly #folder: CacheFolder;
  readonly #limits: CacheLimits;
  /** The sources in order of last use. */
  readonly #sources = new Map<string, CachedSource>();
  readonly #contents = new Map<string, Content>();
  #bytes = 0;
  #change = Promise.withResolvers<void>();

  constructor(folder: string, limits: CacheLimits) {
    this.#folder = new CacheFolder(folder);
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Loads the sources that an earlier process left, and removes its partial files. */
  async start(): Promise<void> {
    try {
      await this.#folder.create();
      for (const { id, ...cached } of await this.#folder.records()) this.#add(id, cached);
      await this.#folder.removeExcept(this.#sources, this.#contents);
      this.#sweep();
      this.#makeRoom(0);
      setInterval(() => this.#sweep(), SWEEP_INTERVAL_MS).unref();
    } catch (cause) {
      const why = `${this.#folder.root} cannot be used as the cache: ${messageOf(cause)}`;
      throw internal(`${why}. Set another directory with --cache`, { cause });
    }
  }

  /** The content that the source last had. */
  async find(name: string): Promise<CachedFile | undefined> {
    const id = sha256(name);
    const source = this.#sources.get(id)?.source;
    if (!source) return undefined;
    const file = this.#hold(source);
    const size = await stat(file.path).then(
      ({ size }) => size,
      () => undefined,
    );
    if (size === source.size) {
      this.#touch(id, source);
      return file;
    }
    // The directory was cleared meanwhile.
    if (this.#sources.get(id)?.source === source) this.#forget(id, source);
    file.release();
    return undefined;
  }

  /** Waits until there is room for this many bytes. @throws the signal's reason */
  async waitForRoom(bytes: number, signal: AbortSignal): Promise<void> {
    while (!this.#makeRoom(bytes)) await untilAborted(this.#change.promise, signal);
  }

  /**
   * Stores the current content of a source. A file of known size is only read if there is room.
   * @throws CacheFull; another Failure if the disk fails; the error of the body
   */
  async store(
    name: string,
    info: FileInfo,
    body: AsyncIterable<Uint8Array>,
    expected?: number,
  ): Promise<CachedFile> {
    const partial = this.#folder.partial();
    const hash = createHash("sha256");
    const needed = expected === undefined ? undefined : expected + RECORD_BYTES;
    let [size, taken] = [0, 0];
    const take = (bytes: number) => {
      const more = Math.max(0, bytes + RECORD_BYTES - taken);
      if (!this.#makeRoom(more)) throw new CacheFull(needed);
      taken += more;
      this.#bytes += more;
    };
    const giveBack = () => {
      this.#bytes -= taken;
      taken = 0;
    };
    async function* counted() {
      for await (const chunk of body) {
        size += chunk.length;
        take(size);
        hash.update(chunk);
        yield chunk;
      }
    }
    try {
      take(expected ?? 0);
      // Flush before the rename, which takes 1 ms: a file with the right size is then complete even
      // after a power failure.
      await writeFile(partial, counted(), { flag: "wx", mode: 0o600, flush: true });
      // From here on the bytes are counted with the content.
      giveBack();
      return await this.#commit(sha256(name), partial, {
        ...info,
        content: hash.digest("hex"),
        size,
      });
    } catch (error) {
      throw asDiskFailure(error);
    } finally {
      giveBack();
      this.#changed();
      await rm(partial, { force: true });
    }
  }

  async #commit(id: string, partial: string, source: Source): Promise<CachedFile> {
    // Replaces the same content, if present: its readers have the old file open.
    renameSync(partial, this.#folder.content(source.content));
    const file = this.#hold(source);
    const record = this.#folder.partial();
    try {
      await writeFile(record, JSON.stringify(source), { flag: "wx", mode: 0o600 });
      renameSync(record, this.#folder.record(id));
      const before = this.#sources.get(id)?.source;
      this.#add(id, { source, usedAt: Date.now() });
      if (before) this.#drop(before, "sources");
      return file;
    } catch (error) {
      file.release();
      await rm(record, { force: true });
      throw error;
    }
  }

  #add(id: string, source: CachedSource): void {
    const known = this.#sources.delete(id);
    this.#sources.set(id, source);
    this.#content(source.source).sources++;
    if (!known) this.#bytes += RECORD_BYTES;
  }

  #hold(source: Source): CachedFile {
    this.#content(source).holders++;
    const { content, size, ...info } = source;
    let held = true;
    return {
      path: this.#folder.content(content),
      size,
      info: info,
      release: () => {
        if (held) this.#drop(source, "holders");
        held = false;
      },
    };
  }

  #content({ content, size }: Source): Content {
    const known = this.#contents.get(content);
    if (known) return known;
    const added = { size, sources: 0, holders: 0 };
    this.#contents.set(content, added);
    this.#bytes += size;
    return added;
  }

  #drop({ content }: Source, reason: "sources" | "holders"): void {
    const dropped = this.#contents.get(content);
    if (!dropped) return;
    dropped[reason]--;
    if (dropped.holders === 0) this.#changed();
    if (dropped.sources + dropped.holders > 0) return;
    this.#contents.delete(content);
    this.#bytes -= dropped.size;
    this.#folder.discard(this.#folder.content(content));
  }

  #forget(id: string, source: Source): void {
    this.#sources.delete(id);
    this.#bytes -= RECORD_BYTES;
    this.#folder.discard(this.#folder.record(id));
    this.#drop(source, "sources");
  }

  /** Evicts sources to make room. @returns whether there is room for this many more bytes */
  #makeRoom(bytes: number): boolean {
    const max = this.#limits.bytes - bytes;
    for (const [id, { source }] of this.#sources) {
      if (this.#bytes <= max) return true;
      if (this.#isIdle(source)) this.#forget(id, source);
    }
    return this.#bytes <= max;
  }

  #sweep(): void {
    const oldest = Date.now() - this.#limits.ageMs;
    for (const [id, { source, usedAt }] of this.#sources) {
      if (usedAt > oldest) return;
      if (this.#isIdle(source)) this.#forget(id, source);
    }
  }

  #isIdle({ content }: Source): boolean {
    return this.#contents.get(content)?.holders === 0;
  }

  #changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  #touch(id: string, source: Source): void {
    const now = new Date();
    if (this.#sources.delete(id)) this.#sources.set(id, { source, usedAt: now.getTime() });
    utimes(this.#folder.record(id), now, now).catch(() => {});
  }
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
