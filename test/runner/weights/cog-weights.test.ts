/** Weights that Cog packs as layers of an image. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import type { JobWeight } from "../../../src/protocol/weights.ts";
import {
  contentOf,
  EIGHTH,
  filesIn,
  folder,
  GB,
  ON_ITS_WAY,
  open,
  restart,
  server,
  sourceOf,
  useWeights,
} from "../support/weight-bed.ts";
import { noise } from "../support/weight-server.ts";

useWeights();

describe("a weight of Cog", () => {
  const [large, small] = [noise(20 * EIGHTH, 2), noise(2_000, 3)];
  const LAYERS = [
    { files: { "model/large.bin": large } },
    { compression: "gzip", files: { "config.json": small, "model/empty": Buffer.of() } },
    { compression: "zstd", files: { "tokenizer/a b.json": noise(5_000, 4) } },
  ] as const;

  test("a weight of Cog comes with all its files, and its layers are removed", async () => {
    const mounted = await open([server.cog("/src/weights", LAYERS)]);
    expect(contentOf(mounted, "/src/weights", "model/large.bin").equals(large)).toBe(true);
    expect(contentOf(mounted, "/src/weights", "config.json").equals(small)).toBe(true);
    expect(contentOf(mounted, "/src/weights", "model/empty").length).toBe(0);
    expect(contentOf(mounted, "/src/weights", "tokenizer/a b.json").length).toBe(5_000);
    // The store has four files, the manifest and the list.
    expect(filesIn(/./)).toHaveLength(6);
    const root = sourceOf(mounted, "/src/weights");
    for (const path of ["", "model", "tokenizer"]) {
      expect(statSync(join(root, path)).mode & 0o777).toBe(0o755);
    }
    expect(statSync(join(root, "config.json")).mode & 0o777).toBe(0o444);
    await mounted.release();
    await expect.poll(() => readdirSync(join(folder, "trash"))).toEqual([]);
  });

  test("a weight of Cog is there the next time without a request, also for another process", async () => {
    const weight = server.cog("/w", LAYERS);
    await (await open([weight])).release();
    const before = server.requests.length;
    await restart();
    await (await open([weight])).release();
    expect(server.requests.length).toBe(before);
  });

  test("a weight of Cog shares files with another one, however they are packed", async () => {
    await (await open([server.cog("/w", LAYERS)])).release();
    const before = server.sent;
    const more = noise(3_000, 9);
    const other = server.cog("/v", [
      { compression: "gzip", files: { "renamed.bin": large } },
      { files: { more, "same.json": small } },
    ]);
    const mounted = await open([other]);
    expect(contentOf(mounted, "/v", "renamed.bin").equals(large)).toBe(true);
    expect(contentOf(mounted, "/v", "more").equals(more)).toBe(true);
    expect(server.sent - before).toBeLessThan(20_000);
    await mounted.release();
  });

  test("a weight of Cog can be beside files, at targets of its own", async () => {
    const all = [server.cog("/w", LAYERS), server.upload("/m/a", small)];
    const mounted = await open(all);
    expect(mounted.mounts.map(({ target }) => target)).toEqual(["/w", "/m/a"]);
    expect(statSync(sourceOf(mounted, "/w")).isDirectory()).toBe(true);
    expect(contentOf(mounted, "/m/a").equals(small)).toBe(true);
    await mounted.release();
  });

  test("a weight of Cog reports its progress, in bytes of the missing files", async () => {
    const reports: SetupProgress[] = [];
    const layers = [{ files: { a: noise(60 * EIGHTH) } }];
    await (await open([server.cog("/w", layers)], { reports })).release();
    expect(reports.length).toBeGreaterThan(0);
    for (const { phase, message } of reports) {
      expect(phase).toBe("pulling");
      expect(message).toMatch(/^loading the weights: \d+ of 493 kB$/);
    }
    const parts = reports.map(({ progress }) => progress ?? 0);
    expect(parts).toEqual(parts.toSorted((a, b) => a - b));
    expect(parts.at(-1)).toBeLessThanOrEqual(1);
  });

  test("a weight of Cog without a grant for its repository fails with this reason", async () => {
    const weight = server.cog("/w", LAYERS);
    await expect(open([weight], { grant: "another" })).rejects.toMatchObject({
      source: "internal",
      message: expect.stringContaining("could not be fetched"),
    });
  });

  test.each<[string, () => JobWeight, string]>([
    [
      "with files of another content",
      () => server.cog("/w", [{ files: { a: noise(10) }, listed: { a: noise(10, 2) } }]),
      "does not match the listed one",
    ],
    [
      "with a symbolic link",
      () => {
        const others = [{ name: "b", type: "symlink" as const, linkname: "/" }];
        return server.cog("/w", [{ files: { a: noise(10) }, others }]);
      },
      "neither a file",
    ],
    [
      "with a list that its layers are not in",
      () => server.cog("/w", [{ files: { a: noise(10) } }], { manifest: { layers: [] } }),
      "no layer",
    ],
    [
      "with a list of another digest",
      () => {
        const digest = `sha256:${"f".repeat(64)}`;
        const mediaType = "application/vnd.cog.weight.config.v1+json";
        return server.cog("/w", [], { manifest: { config: { mediaType, digest, size: 9 } } });
      },
      "the deployment no longer has it",
    ],
    [
      "with more bytes than a runner keeps",
      () => {
        const digest = `sha256:${"f".repeat(64)}`;
        const layer = { mediaType: "application/vnd.oci.image.layer.v1.tar", digest, size: 9 };
        const files = [{ path: "a", layer: digest, size: 2 * GB, digest }];
        const more = { configuration: { files }, manifest: { layers: [layer] } };
        return server.cog("/w", [], more);
      },
      "--weights-gb",
    ],
  ])("a weight of Cog is refused and leaves nothing behind: %s", async (_name, weight, words) => {
    await expect(open([weight()])).rejects.toThrow(words);
    expect(filesIn(ON_ITS_WAY)).toEqual([]);
    expect(readdirSync(join(folder, "mounts"))).toEqual([]);
    await expect.poll(() => readdirSync(join(folder, "trash"))).toEqual([]);
  });

  test("a weight of Cog whose blob does not match its digest is refused", async () => {
    const weight = server.cog("/w", LAYERS);
    for (const [path, bytes] of server.files) {
      if (path.includes("manifests")) server.files.set(path, Buffer.from(`${bytes} `));
    }
    await expect(open([weight])).rejects.toThrow("its content does not match its digest");
  });
});
