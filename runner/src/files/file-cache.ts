/**
 * Files on disk by their content, and which source held which content last. Bounded: the source
 * that nobody has used for the longest time goes first, what is in use never. What nobody has used
 * for long goes in any case: it is somebody's own.
 *
 *   files/{SHA-256 of the bytes}, sources/{SHA-256 of the source}.json
 *   partial/{uuid}: what is on its way in or out
 *
 * Everything gets in and out of the first two by rename, so whatever a crash leaves there is whole.
 */
import { createHash, randomUUID } from "node:crypto";
import { renameSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { untilAborted } from "../../../src/lib/timeout.ts";
import { internal } from "../containers/failure.ts";
import { messageOf } from "../control-plane/error.ts";
import { asDiskFailure, CacheFull } from "./cache-failure.ts";
import { type FileInfo, parseRecord, RECORD_BYTES, type Source } from "./cache-record.ts";

export interface CacheLimits {
  /** Of everything in the folder. */
  bytes: number;
  /** Since a source was used last, ms. */
  ageMs: number;
}

/** A file that stays until it is released. */
export interface CachedFile {
  path: string;
  size: number;
  info: FileInfo;
  release(): void;
}

/** A source, and when it was last used, ms since the epoch. */
interface CachedSource {
  source: Source;
  usedAt: number;
}

interface Content {
  size: number;
  sources: number;
  holders: number;
}

/** How much older than allowed something may get, ms. */
const SWEEP_INTERVAL_MS = 600_000;

const CONTENT_NAME = /^[0-9a-f]{64}$/;
const RECORD_NAME = /^[0-9a-f]{64}\.json$/;
const PARTIAL_NAME = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

export class FileCache {
  readonly #folder: string;
  readonly #limits: CacheLimits;
  /** In the order of their last use. */
  readonly #sources = new Map<string, CachedSource>();
  readonly #contents = new Map<string, Content>();
  #bytes = 0;
  #change = Promise.withResolvers<void>();

  constructor(folder: string, limits: CacheLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  /** Finds again what an earlier runner left, and removes what it had not finished. */
  async start(): Promise<void> {
    try {
      for (const kind of ["files", "sources", "partial"]) {
        await mkdir(this.#path(kind), { recursive: true, mode: 0o700 });
      }
      await this.#remove("partial", PARTIAL_NAME, () => true);
      await this.#load();
      await this.#remove("sources", RECORD_NAME, (name) => !this.#sources.has(name.slice(0, 64)));
      await this.#remove("files", CONTENT_NAME, (name) => !this.#contents.has(name));
      this.#sweep();
      this.#makeRoom(0);
      setInterval(() => this.#sweep(), SWEEP_INTERVAL_MS).unref();
    } catch (cause) {
      const why = `the folder ${this.#folder} cannot hold files of inputs: ${messageOf(cause)}`;
      throw internal(`${why}; name another one with --cache`, { cause });
    }
  }

  /** What the source held last. */
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
    // Somebody has cleared the folder.
    if (this.#sources.get(id)?.source === source) this.#forget(id, source);
    file.release();
    return undefined;
  }

  /** Waits until there is room for so many bytes. @throws the signal's reason */
  async waitForRoom(bytes: number, signal: AbortSignal): Promise<void> {
    while (!this.#makeRoom(bytes)) await untilAborted(this.#change.promise, signal);
  }

  /**
   * Keeps what the source holds now. What the body throws comes through; when it is known how many
   * bytes are to come, it is not begun without room for them.
   * @throws NoRoom; another Failure when the disk does not take it
   */
  async store(
    name: string,
    info: FileInfo,
    body: AsyncIterable<Uint8Array>,
    expected?: number,
  ): Promise<CachedFile> {
    const partial = this.#path("partial", randomUUID());
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
      // On the disk before its name is: 1 ms, and what has the right size after a power cut is whole.
      await writeFile(partial, counted(), { flag: "wx", mode: 0o600, flush: true });
      // As the content's own they count from here on.
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
    // Over the same content, if that is there: its readers have the old file open.
    renameSync(partial, this.#path("files", source.content));
    const file = this.#hold(source);
    const record = this.#path("partial", randomUUID());
    try {
      await writeFile(record, JSON.stringify(source), { flag: "wx", mode: 0o600 });
      renameSync(record, this.#record(id));
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
      path: this.#path("files", content),
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

  /** Content that no source has and nobody holds is gone. */
  #drop({ content }: Source, reason: "sources" | "holders"): void {
    const dropped = this.#contents.get(content);
    if (!dropped) return;
    dropped[reason]--;
    if (dropped.holders === 0) this.#changed();
    if (dropped.sources + dropped.holders > 0) return;
    this.#contents.delete(content);
    this.#bytes -= dropped.size;
    this.#discard(this.#path("files", content));
  }

  #forget(id: string, source: Source): void {
    this.#sources.delete(id);
    this.#bytes -= RECORD_BYTES;
    this.#discard(this.#record(id));
    this.#drop(source, "sources");
  }

  /** Out of the way at once: to unlink 10 GB takes a while, and the same file may come meanwhile. */
  #discard(path: string): void {
    const partial = this.#path("partial", randomUUID());
    try {
      renameSync(path, partial);
    } catch {
      return; // Somebody has cleared the folder.
    }
    rm(partial, { force: true }).catch(() => {});
  }

  /** Whether there is room for so many bytes more. */
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
    utimes(this.#record(id), now, now).catch(() => {});
  }

  async #load(): Promise<void> {
    const records: (CachedSource & { id: string })[] = [];
    const now = Date.now();
    for (const name of await readdir(this.#path("sources"))) {
      if (!RECORD_NAME.test(name)) continue;
      const path = this.#path("sources", name);
      const source = parseRecord(await readFile(path, "utf8"));
      if (!source) continue;
      const file = await stat(this.#path("files", source.content)).catch(() => undefined);
      if (file?.size !== source.size) continue;
      records.push({
        id: name.slice(0, 64),
        source,
        usedAt: Math.min(now, (await stat(path)).mtimeMs),
      });
    }
    records.sort((a, b) => a.usedAt - b.usedAt);
    for (const { id, ...known } of records) this.#add(id, known);
  }

  /** Only what has a name as it is given here: an operator may have named the wrong folder. */
  async #remove(kind: string, names: RegExp, unwanted: (name: string) => boolean): Promise<void> {
    for (const name of await readdir(this.#path(kind))) {
      if (names.test(name) && unwanted(name)) await rm(this.#path(kind, name), { force: true });
    }
  }

  readonly #path = (...parts: string[]): string => join(this.#folder, ...parts);
  readonly #record = (id: string): string => this.#path("sources", `${id}.json`);
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
