/** Layers of any content: only the listed files are unpacked. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { expectedFile, unpackLayer } from "../../../runner/src/weights/unpack-layer.ts";
import type { WeightLayer } from "../../../runner/src/weights/weight-manifest.ts";
import { type TarEntry, tarHeader } from "../support/tar.ts";
import { digestOf, type Layer, noise, packLayer } from "../support/weight-server.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "auspex-unpack-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const FILES = {
  "config.json": Buffer.from("{}"),
  "a/b/model.bin": noise(30_000),
  empty: Buffer.of(),
};

async function* chunksOf(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

interface Options {
  there?: string[];
  chunk?: number;
  change?: (bytes: Buffer) => Buffer;
  maxBytes?: number;
}

/** @returns the unpacked files, by their digests */
async function unpack(packed: Layer, options: Options = {}): Promise<string[]> {
  const { there = [], chunk = 10_000, change = (bytes) => bytes } = options;
  const { bytes, files, digest } = packLayer(packed);
  const sum = files.reduce((all, { size }) => all + size + 4_096, 1_000_000);
  const layer: WeightLayer = {
    digest,
    size: bytes.length,
    compression: packed.compression ?? "none",
    files,
    maxBytes: options.maxBytes ?? sum,
  };
  const come: string[] = [];
  await unpackLayer({
    layer,
    bytes: chunksOf(change(bytes), chunk),
    targetOf: ({ path, digest }) =>
      there.includes(path)
        ? undefined
        : { temporary: join(folder, "temporary"), path: join(folder, digest.slice(7)) },
    onFile: async ({ path }) => void come.push(path),
  });
  return come;
}

const left = () => readdirSync(folder);

describe.each([undefined, "gzip", "zstd"] as const)("an archive (%s)", (compression) => {
  test.each([7, 511, 513, 1_000_000])(
    "an archive unpacks, however it is cut (%i)",
    async (chunk) => {
      const packed = compression ? { compression, files: FILES } : { files: FILES };
      expect(await unpack(packed, { chunk })).toEqual(Object.keys(FILES));
      for (const bytes of Object.values(FILES)) {
        const path = join(folder, digestOf(bytes).slice(7));
        expect(readFileSync(path).equals(bytes)).toBe(true);
        expect(statSync(path).mode & 0o777).toBe(0o444);
      }
      expect(left()).toHaveLength(3);
    },
  );

  test("an archive that ends early is refused", async () => {
    const packed = compression ? { compression, files: FILES } : { files: FILES };
    const failing = unpack(packed, { change: (bytes) => bytes.subarray(0, bytes.length / 2) });
    await expect(failing).rejects.toMatchObject({ source: "external" });
    expect(left()).not.toContain("temporary");
  });
});

test("files that are present are not written again", async () => {
  expect(await unpack({ files: FILES }, { there: ["a/b/model.bin"] })).toEqual([
    "config.json",
    "empty",
  ]);
});

test("folders and a leading ./ in an archive are skipped", async () => {
  const others = [
    { name: "./", type: "directory" as const },
    { name: "a/", type: "directory" as const },
  ];
  const [first, second] = [Buffer.from("1"), Buffer.from("2")];
  const files = { "./a/x": first, y: second };
  expect(await unpack({ files, others, listed: { "a/x": first, y: second } })).toEqual([
    "a/x",
    "y",
  ]);
});

test.each<[string, TarEntry, string]>([
  ["a symbolic link", { name: "x", type: "symlink", linkname: "/etc/passwd" }, "neither a file"],
  ["a hard link", { name: "x", type: "link", linkname: "config.json" }, "neither a file"],
  ["a device", { name: "x", type: "character-device" }, "neither a file"],
  ["a block device", { name: "x", type: "block-device" }, "neither a file"],
  ["a pipe", { name: "x", type: "fifo" }, "neither a file"],
  ["a file that is not listed", { name: "y", content: Buffer.from("x") }, "not listed"],
  ["a whiteout", { name: ".wh.config.json" }, "not listed"],
  ["a way out", { name: "../../x", content: Buffer.from("x") }, "not listed"],
  ["an absolute path", { name: "/etc/x", content: Buffer.from("x") }, "not listed"],
  ["a folder elsewhere", { name: "../x/", type: "directory" }, "neither a file"],
  ["a listed file twice", { name: "config.json", content: Buffer.from("[]") }, "digest"],
])("an archive with %s is refused", async (_name, header, words) => {
  const failing = unpack({ files: FILES, others: [header] });
  await expect(failing).rejects.toMatchObject({
    source: "external",
    message: expect.stringContaining(words),
  });
  expect(left()).not.toContain("temporary");
});

test("a missing file, or one of another size or content, is refused", async () => {
  const listed = { ...FILES, "config.json": Buffer.from("[]") };
  await expect(unpack({ files: FILES, listed })).rejects.toThrow("does not match the listed one");
  const longer = { ...FILES, "config.json": Buffer.from("{ }") };
  await expect(unpack({ files: FILES, listed: longer })).rejects.toThrow(
    "2 bytes, but 3 are listed",
  );
  const more = { ...FILES, more: Buffer.from("x") };
  await expect(unpack({ files: FILES, listed: more })).rejects.toThrow("is missing more");
  expect(left()).not.toContain("temporary");
});

test("an archive that unpacks into far more than is listed is broken off", async () => {
  let taken = 0;
  async function* bomb() {
    // Each 64 MiB of zeros takes 64 KiB compressed.
    const zeros = gzipSync(Buffer.alloc(64 * 1024 ** 2));
    for (let times = 0; times < 1_000; times++) {
      taken++;
      yield zeros;
    }
  }
  const layer: WeightLayer = {
    digest: digestOf("x"),
    size: 1_000_000,
    compression: "gzip",
    files: [{ path: "a", size: 10, digest: digestOf("x") }],
    maxBytes: 1_000_000,
  };
  const failing = unpackLayer({
    layer,
    bytes: bomb(),
    targetOf: () => undefined,
    async onFile() {},
  });
  await expect(failing).rejects.toThrow("contains more than its listed files");
  expect(taken).toBeLessThan(100);
});

test("a header of gigabytes is not taken into memory", async () => {
  // The header says that the following file name has 8 GB.
  const header = tarHeader({ name: "a", type: "gnu-long-path", size: 8 * 1024 ** 3 - 1 });
  async function* endless() {
    yield header;
    for (let times = 0; times < 10_000; times++) yield Buffer.alloc(1024 ** 2);
  }
  const layer: WeightLayer = {
    digest: digestOf("x"),
    size: 10 ** 10,
    compression: "none",
    files: [{ path: "a", size: 1, digest: digestOf("x") }],
    maxBytes: 10 ** 11,
  };
  const before = process.memoryUsage().rss;
  const failing = unpackLayer({
    layer,
    bytes: endless(),
    targetOf: () => undefined,
    async onFile() {},
  });
  await expect(failing).rejects.toMatchObject({ source: "external" });
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 ** 2);
});

test("a listed file is expected once", () => {
  const file = { path: "a", size: 1, digest: digestOf("x") };
  const files = new Map([["a", file]]);
  expect(expectedFile({ type: "file", name: "a", size: 1 }, files)).toBe(file);
  expect(() => expectedFile({ type: "file", name: "a", size: 1 }, files)).toThrow("not listed");
  expect(existsSync(join(folder, "a"))).toBe(false);
});
