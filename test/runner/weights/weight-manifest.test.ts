/** Manifests of weights that a model's owner has written. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  frontRange,
  missingRanges,
  rangeAt,
  rangeBytes,
  rangeCount,
} from "../../../runner/src/weights/range-plan.ts";
import {
  parseManifest,
  pathProblem,
  readLayers,
} from "../../../runner/src/weights/weight-manifest.ts";

const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const TAR = "application/vnd.oci.image.layer.v1.tar";
const [A, B] = [digest("a"), digest("b")];

const manifestOf = (layers: object[]) => ({
  schemaVersion: 2,
  config: { mediaType: "application/vnd.cog.weight.config.v1+json", digest: digest("c"), size: 9 },
  layers,
});
const layer = (name = A, more: object = {}) => ({
  mediaType: TAR,
  digest: name,
  size: 2_048,
  ...more,
});
const file = (path: string, more: object = {}) => ({
  path,
  layer: A,
  size: 3,
  digest: digest("d"),
  ...more,
});

const read = (files: unknown, layers: object[] = [layer()]) =>
  readLayers(parseManifest(JSON.stringify(manifestOf(layers))), JSON.stringify({ files }));

test("layers have the files that are listed for them, and layers without files are skipped", () => {
  const layers = [
    layer(B, { mediaType: `${TAR}+zstd` }),
    layer(A, { mediaType: `${TAR}+gzip` }),
    layer(digest("e"), { mediaType: "text/plain", size: 10 ** 12 }),
  ];
  const files = [file("a/b.json"), file("a/c.bin", { layer: B }), file("d", { size: 0 })];
  const [first, second, ...others] = read(files, layers);
  expect(others).toEqual([]);
  expect(first).toMatchObject({ digest: A, compression: "gzip", size: 2_048 });
  expect(first?.files.map(({ path }) => path)).toEqual(["a/b.json", "d"]);
  expect(second).toMatchObject({ digest: B, compression: "zstd" });
});

test.each([
  ["{", "not one of Cog"],
  ["null", "not one of Cog"],
  [JSON.stringify({ ...manifestOf([]), config: undefined }), "not one of Cog"],
  [
    JSON.stringify({ schemaVersion: 2, config: { mediaType: "a/b", digest: A, size: 1 } }),
    "not one of Cog",
  ],
])("the manifest %s is refused", (text, words) => {
  expect(() => parseManifest(text)).toThrow(words);
});

describe("a list of files is refused", () => {
  test.each([
    ["none", undefined, "invalid"],
    ["an empty one", [], "invalid"],
    ["10,001 of them", Array.from({ length: 10_001 }, (_, n) => file(`${n}`)), "invalid"],
    ["half of a file", [file("a", { size: 1.5 })], "invalid"],
    ["less than nothing", [file("a", { size: -1 })], "invalid"],
    ["more bytes than can be counted", [file("a", { size: 2 ** 60 })], "invalid"],
    ["another digest", [file("a", { digest: "md5:1" })], "invalid"],
    ["twice the same", [file("a"), file("a")], "two files with the same path"],
    ["a file that is a folder", [file("a/b"), file("a/b/c/d")], "a/b is a file and a folder"],
    ["in a layer that is not there", [file("a", { layer: B })], "no layer"],
    ["a way out", [file("../a")], "'..'"],
  ])("a list of files is refused: %s", (_name, files, words) => {
    expect(() => read(files)).toThrow(words);
  });

  test("a list of files for a layer that is no archive is refused", () => {
    const layers = [layer(A, { mediaType: "application/vnd.oci.image.layer.v1.tar+xz" })];
    expect(() => read([file("a")], layers)).toThrow("is not a tar archive");
  });

  test("a list of files for a layer that is larger than them is refused", () => {
    const fits = 3 + 4_096 + 1024 ** 2;
    expect(read([file("a")], [layer(A, { size: fits })])).toHaveLength(1);
    expect(() => read([file("a")], [layer(A, { size: fits + 1 })])).toThrow(
      "larger than the files",
    );
  });
});

test.each(["a", "a/b.c", "ä/日本", "a b", ".hidden/x", "..a/b..", "x".repeat(255)])(
  "a path may be %s",
  (path) => {
    expect(pathProblem(path)).toBeUndefined();
  },
);

test.each([
  "",
  "/a",
  "a/",
  "a//b",
  ".",
  "..",
  "a/../b",
  "./a",
  "a\0b",
  "a\nb",
  "a\\b",
  "\ud800",
  "x".repeat(256),
  "ä".repeat(128),
  "a/".repeat(600),
])("a path may not be %j", (path) => {
  expect(pathProblem(path)).toEqual(expect.any(String));
});

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

test.each([
  [1, 8 * MIB],
  [8 * MIB, 8 * MIB],
  [256 * MIB, 8 * MIB],
  [256 * MIB + 1, 9 * MIB],
  [GIB, 32 * MIB],
  [2 * GIB, 64 * MIB],
  [900 * GIB, 64 * MIB],
])("a file of %i bytes is cut into ranges of %i", (size, bytes) => {
  expect(rangeBytes(size)).toBe(bytes);
});

test("ranges cover a file of any size, without gaps and overlaps", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 1, max: 9_000 }),
      (size, bytes) => {
        const ranges = Array.from({ length: rangeCount(size, bytes) }, (_, index) =>
          rangeAt(index, size, bytes),
        );
        expect(ranges.every(({ first, last }) => first <= last)).toBe(true);
        const ends = ranges.map(({ last }) => last + 1);
        expect([...ranges.map(({ first }) => first), size]).toEqual([0, ...ends]);
      },
    ),
  );
});

test("the missing ranges and the readable beginning of a file fit together", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.array(fc.nat(39)), (size, numbers) => {
      const come = new Set(numbers.filter((index) => index < size));
      const missing = missingRanges(size, 1, come);
      expect(missing.length + come.size).toBe(size);
      expect(missing).toEqual(missing.toSorted((a, b) => a - b));
      expect(frontRange(size, come)).toBe(missing[0] ?? size);
    }),
  );
});
