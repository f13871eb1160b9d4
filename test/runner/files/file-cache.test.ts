import { createHash } from "node:crypto";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { CacheFull } from "../../../runner/src/files/cache-folder.ts";
import { type CachedFile, FileCache } from "../../../runner/src/files/file-cache.ts";
import { errorOf } from "../support/public-fetch-server.ts";

const KB = 1_024;
/** Bytes that the record of one source counts for. */
const RECORD = 4 * KB;
const info = { name: "a.bin", mime_type: "text/plain" };

const never = new AbortController().signal;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "auspex-cache-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const list = (kind: string) => readdirSync(join(folder, kind)).sort();
const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
const record = (name: string) => join(folder, "sources", `${digest(Buffer.from(name))}.json`);
const bytesOf = (fill: string, size: number) => Buffer.alloc(size, fill);

async function* chunksOf(bytes: Buffer, size = 64 * KB) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const HOUR = 3_600_000;

async function open(max = 1024 * KB): Promise<FileCache> {
  const cache = new FileCache(folder, { bytes: max, ageMs: 72 * HOUR });
  await cache.start();
  return cache;
}

const put = (cache: FileCache, name: string, bytes: Buffer): Promise<CachedFile> =>
  cache.store(name, info, chunksOf(bytes));

function usedBefore(name: string, hours: number): void {
  const then = (Date.now() - hours * HOUR) / 1_000;
  utimesSync(record(name), then, then);
}

async function has(cache: FileCache, name: string): Promise<boolean> {
  const held = await cache.find(name);
  held?.release();
  return held !== undefined;
}

test("a stored file is found byte for byte, with its name, type and validators", async () => {
  const cache = await open();
  const bytes = bytesOf("a", 300 * KB + 1);
  const validators = { from: "https://a.test/", etag: '"1"' };
  (await cache.store("one", { ...info, validators }, chunksOf(bytes))).release();
  const found = await cache.find("one");
  expect(found).toMatchObject({ size: bytes.length, info: { ...info, validators } });
  expect(readFileSync(found?.path ?? "").equals(bytes)).toBe(true);
  expect(await cache.find("two")).toBeUndefined();
});

test("an empty file is stored as a file", async () => {
  const cache = await open();
  (await put(cache, "empty", Buffer.alloc(0))).release();
  expect(await has(cache, "empty")).toBe(true);
});

test("the same bytes from two sources are stored once", async () => {
  const cache = await open();
  const [a, b] = await Promise.all([
    put(cache, "one", bytesOf("a", KB)),
    put(cache, "two", bytesOf("a", KB)),
  ]);
  expect(a.path).toBe(b.path);
  expect(list("files")).toEqual([digest(bytesOf("a", KB))]);
  expect(list("partial")).toEqual([]);
});

test("a source that has changed releases its old file", async () => {
  const cache = await open();
  (await put(cache, "one", bytesOf("a", KB))).release();
  const changed = await put(cache, "one", bytesOf("b", KB));
  expect(list("files")).toEqual([digest(bytesOf("b", KB))]);
  expect(list("sources")).toHaveLength(1);
  changed.release();
  expect(await has(cache, "one")).toBe(true);
});

test("the least recently used file is removed first", async () => {
  const cache = await open(3 * (100 * KB + RECORD));
  for (const name of ["a", "b", "c"]) (await put(cache, name, bytesOf(name, 100 * KB))).release();
  expect(await has(cache, "a")).toBe(true);
  (await put(cache, "d", bytesOf("d", 100 * KB))).release();
  const there = [];
  for (const name of ["a", "b", "c", "d"]) if (await has(cache, name)) there.push(name);
  expect(there).toEqual(["a", "c", "d"]);
  expect(list("files")).toHaveLength(3);
  expect(list("sources")).toHaveLength(3);
  await vi.waitFor(() => expect(list("partial")).toEqual([]));
});

test("a file in use is never removed, and is removed like any other when it no longer is", async () => {
  const cache = await open(250 * KB);
  const used = await put(cache, "used", bytesOf("u", 100 * KB));
  (await put(cache, "idle", bytesOf("i", 100 * KB))).release();
  (await put(cache, "new", bytesOf("n", 100 * KB))).release();
  expect(readFileSync(used.path).equals(bytesOf("u", 100 * KB))).toBe(true);
  expect(await has(cache, "idle")).toBe(false);
  used.release();
  used.release();
  expect(await has(cache, "used")).toBe(true);
  (await put(cache, "more", bytesOf("m", 200 * KB))).release();
  expect(existsSync(used.path)).toBe(false);
});

test("a cache full of files in use states the room that a new file needs, and drops what it had of it", async () => {
  const cache = await open(250 * KB);
  const held = await put(cache, "used", bytesOf("u", 200 * KB));
  const error = await errorOf(put(cache, "new", bytesOf("n", 100 * KB)));
  expect(error).toBeInstanceOf(CacheFull);
  expect(error).toMatchObject({ source: "internal", bytes: undefined });
  expect(list("partial")).toEqual([]);
  held.release();
  (await put(cache, "new", bytesOf("n", 200 * KB))).release();
  expect(await has(cache, "new")).toBe(true);
});

test("a file that is known to find no room is not begun", async () => {
  const cache = await open(250 * KB);
  await put(cache, "used", bytesOf("u", 200 * KB));
  const body = vi.fn(chunksOf);
  const stored = cache.store("new", info, body(bytesOf("n", 100 * KB)), 100 * KB);
  expect(await errorOf(stored)).toMatchObject({ bytes: 100 * KB + RECORD });
  expect(list("partial")).toEqual([]);
});

test("a file waits for room until there is enough, or its caller gives up", async () => {
  const cache = await open(250 * KB);
  const held = [];
  for (const name of ["a", "b"]) held.push(await put(cache, name, bytesOf(name, 100 * KB)));
  const stop = new AbortController();
  const waits = cache.waitForRoom(150 * KB, never);
  const gives = errorOf(cache.waitForRoom(150 * KB, stop.signal));
  stop.abort(new Error("cancelled"));
  expect(await gives).toMatchObject({ message: "cancelled" });
  for (const one of held) one.release();
  await waits;
  await cache.waitForRoom(150 * KB, never);
});

test("files that were not used for long are removed at the start, and used ones stay", async () => {
  const before = await open();
  for (const name of ["old", "new"])
    (await put(before, name, bytesOf(name[0] ?? "", KB))).release();
  usedBefore("old", 73);
  usedBefore("new", 71);
  const cache = await open();
  expect(await has(cache, "old")).toBe(false);
  expect(await has(cache, "new")).toBe(true);
  expect([list("files"), list("sources")].map(({ length }) => length)).toEqual([1, 1]);
});

test("a runner that runs for long removes old files as well, but none in use", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const cache = await open();
  const used = await put(cache, "used", bytesOf("u", KB));
  for (const name of ["old", "new"]) (await put(cache, name, bytesOf(name[0] ?? "", KB))).release();
  vi.advanceTimersByTime(71 * HOUR);
  expect(await has(cache, "new")).toBe(true);
  vi.advanceTimersByTime(2 * HOUR);
  expect(list("files")).toEqual([digest(bytesOf("n", KB)), digest(bytesOf("u", KB))].sort());
  used.release();
  vi.advanceTimersByTime(HOUR);
  expect(list("files")).toEqual([digest(bytesOf("n", KB))]);
  expect(list("sources")).toHaveLength(1);
});

test("a file that breaks off is not kept, and its error is passed on", async () => {
  const cache = await open(250 * KB);
  async function* broken() {
    yield bytesOf("a", 200 * KB);
    throw new Error("cut");
  }
  for (let time = 0; time < 3; time++) {
    await expect(cache.store("one", info, broken())).rejects.toThrow("cut");
  }
  expect(await has(cache, "one")).toBe(false);
  expect([list("files"), list("partial")]).toEqual([[], []]);
  // All bytes of the broken file are free again.
  (await put(cache, "two", bytesOf("b", 200 * KB))).release();
});

test("the next process of the runner finds all files, in the order of their use", async () => {
  const first = await open();
  for (const name of ["a", "b", "c"]) (await put(first, name, bytesOf(name, 100 * KB))).release();
  // Hours make the order clear, because uses within one tick of the disk's clock have none.
  for (const [name, hours] of Object.entries({ a: 1, b: 3, c: 2 })) usedBefore(name, hours);
  const second = await open(2 * (100 * KB + RECORD));
  expect(await has(second, "a")).toBe(true);
  expect(await has(second, "b")).toBe(false);
  expect(await has(second, "c")).toBe(true);
  expect(list("files")).toHaveLength(2);
});

test("the use of a file is recorded on the disk", async () => {
  const cache = await open();
  (await put(cache, "a", bytesOf("a", KB))).release();
  utimesSync(record("a"), 0, 0);
  await has(cache, "a");
  await vi.waitFor(() => {
    expect(statSync(record("a")).mtimeMs).toBeGreaterThan(0);
  });
});

test("files that a crash leaves are removed, and no files of others", async () => {
  const before = await open();
  for (const name of ["whole", "short", "lost", "garbled"]) {
    (await put(before, name, bytesOf(name[0] ?? "", KB))).release();
  }
  const file = (name: string) => join(folder, "files", digest(bytesOf(name[0] ?? "", KB)));
  truncateSync(file("short"), 10);
  rmSync(file("lost"));
  writeFileSync(record("garbled"), '{"content":');
  writeFileSync(join(folder, "files", "f".repeat(64)), "nobody's");
  writeFileSync(join(folder, "partial", crypto.randomUUID()), "half");
  for (const kind of ["files", "sources", "partial"]) {
    writeFileSync(join(folder, kind, "holiday.jpg"), "not of the cache");
  }
  const cache = await open();
  expect(list("files")).toEqual([digest(bytesOf("w", KB)), "holiday.jpg"]);
  expect(list("sources")).toEqual([record("whole").split("/").at(-1), "holiday.jpg"].sort());
  expect(list("partial")).toEqual(["holiday.jpg"]);
  const found = [];
  for (const name of ["whole", "short", "lost", "garbled"]) found.push(await has(cache, name));
  expect(found).toEqual([true, false, false, false]);
});

test("files that were deleted on the disk are fetched again", async () => {
  const cache = await open();
  (await put(cache, "a", bytesOf("a", KB))).release();
  for (const name of list("files")) rmSync(join(folder, "files", name));
  expect(await has(cache, "a")).toBe(false);
  (await put(cache, "a", bytesOf("a", KB))).release();
  expect(await has(cache, "a")).toBe(true);
});

test("a disk that refuses a file is an internal failure", async () => {
  const cache = await open();
  rmSync(join(folder, "partial"), { recursive: true });
  await expect(put(cache, "a", bytesOf("a", KB))).rejects.toMatchObject({
    source: "internal",
    message: expect.stringContaining("the runner's cache is not writable"),
  });
});

test("a folder that cannot be used causes an error with the setting that names another", async () => {
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "a file");
  await expect(open()).rejects.toMatchObject({ message: expect.stringMatching(/EEXIST|ENOTDIR/) });
  await expect(open()).rejects.toMatchObject({ message: expect.stringContaining("--cache") });
});

test("the cache is readable by its user only", async () => {
  const cache = await open();
  const held = await put(cache, "a", bytesOf("a", KB));
  expect(statSync(join(folder, "files")).mode & 0o077).toBe(0);
  expect(statSync(held.path).mode & 0o077).toBe(0);
});
