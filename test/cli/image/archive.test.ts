/** Archives of images as engines and skopeo write them, and the errors of damaged ones. */
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readArchive, tarEntries } from "../../../src/cli/image/archive.ts";
import { ArchiveFile } from "../../../src/cli/image/archive-file.ts";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import { archiveOf } from "../support/archives.ts";
import { sha256 } from "../support/memory-registry.ts";

const { signal } = new AbortController();

async function read(bytes: Buffer, name?: string) {
  const large: [path: string, size: number][] = [];
  const archive = await readArchive(
    tarEntries(Readable.from([bytes]), signal),
    async (path, entry, size) => {
      expect((await buffer(entry)).length).toBe(size);
      large.push([path, size]);
    },
    name,
  );
  return { ...archive, large };
}

type Files = Record<string, string | Buffer>;

const tarOf = (files: Files): Promise<Buffer> => {
  const archive = pack();
  for (const [name, content] of Object.entries(files)) archive.entry({ name }, content);
  archive.finalize();
  return buffer(archive);
};

test("a layer that is there twice is a link to the first, and small ones are kept", async () => {
  const layer = randomBytes(2 * 1024 * 1024);
  const { layers, large } = await read(
    await archiveOf("classic", [layer, Buffer.from("s"), layer]),
  );
  expect(large).toEqual([[layers[0]?.path, layer.length]]);
  expect(layers.map(({ path }) => path === layers[0]?.path)).toEqual([true, false, true]);
  expect(layers[1]?.small?.toString()).toBe("s");
});

const config = (architecture: string) =>
  JSON.stringify({ os: "linux", architecture, rootfs: { diff_ids: [] } });

/** Returns an archive of `docker save` with images of these names and architectures. */
const saved = (...images: [name: string, architecture: string][]): Files => ({
  ...Object.fromEntries(
    images.flatMap(([name, architecture]) => [
      [`${name}.json`, config(architecture)],
      [`${name}.tar`, name],
    ]),
  ),
  "manifest.json": JSON.stringify(
    images.map(([name]) => ({
      Config: `${name}.json`,
      RepoTags: [`${name}:latest`],
      Layers: [`${name}.tar`],
    })),
  ),
});

/** Returns an OCI layout with an image of one layer for each, in an index if it has several platforms. */
function layout(images: { name?: string; layer: string; platforms: string[] }[]): Files {
  const files: Files = { "oci-layout": '{"imageLayoutVersion": "1.0.0"}' };
  const add = (mediaType: string, content: string) => {
    const digest = sha256(content);
    files[`blobs/${digest.replace(":", "/")}`] = content;
    return { mediaType, digest, size: content.length };
  };
  const manifests = images.map(({ name, layer, platforms }) => {
    const own = platforms.map((architecture) => {
      const manifest = {
        schemaVersion: 2,
        config: add(MEDIA_TYPES.ociConfig, config(architecture)),
        layers: [add("application/vnd.oci.image.layer.v1.tar", `${layer}-${architecture}`)],
      };
      return {
        ...add(MEDIA_TYPES.ociManifest, JSON.stringify(manifest)),
        ...(platforms.length > 1 && { platform: { os: "linux", architecture } }),
      };
    });
    const one =
      own.length === 1
        ? own[0]
        : add(MEDIA_TYPES.ociIndex, JSON.stringify({ schemaVersion: 2, manifests: own }));
    const annotations = name === undefined ? {} : { "org.opencontainers.image.ref.name": name };
    return { ...one, annotations };
  });
  return { ...files, "index.json": JSON.stringify({ schemaVersion: 2, manifests }) };
}

const blobOf = (layer: string) => `blobs/${sha256(layer).replace(":", "/")}`;

test("an archive with several platforms gives the image for runners", async () => {
  const both = [
    ["arm", "arm64"],
    ["amd", "amd64"],
  ] satisfies [string, string][];
  expect((await read(await tarOf(saved(...both)))).layers).toEqual([
    { path: "amd.tar", small: Buffer.from("amd"), blob: undefined },
  ]);
  const files = layout([{ layer: "x", platforms: ["arm64", "amd64"] }]);
  // An engine that has pulled one platform lists the other platforms without their blobs.
  delete files[blobOf("x-arm64")];
  const { layers, manifest } = await read(await tarOf(files));
  expect(layers.map(({ small }) => small?.toString())).toEqual(["x-amd64"]);
  expect(manifest?.mediaType).toBe(MEDIA_TYPES.ociManifest);
});

test("--image names one of several images, with or without its tag latest", async () => {
  const files = saved(["one", "amd64"], ["two", "amd64"]);
  await expect(read(await tarOf(files))).rejects.toThrow(
    "The archive has several images: one:latest, two:latest. Choose one with --image NAME.",
  );
  for (const name of ["two", "two:latest"])
    expect((await read(await tarOf(files), name)).layers[0]?.path).toBe("two.tar");
  await expect(read(await tarOf(files), "three")).rejects.toThrow(
    'Image "three" not found in the archive. Available: one:latest, two:latest.',
  );
  const platforms = ["amd64"];
  const oci = layout([
    { name: "v1", layer: "x", platforms },
    { name: "v2", layer: "y", platforms },
  ]);
  await expect(read(await tarOf(oci))).rejects.toThrow("has several images: v1, v2.");
  expect((await read(await tarOf(oci), "v2")).layers[0]?.path).toBe(blobOf("y-amd64"));
  const unnamed = layout([
    { layer: "x", platforms },
    { layer: "y", platforms },
  ]);
  await expect(read(await tarOf(unnamed))).rejects.toThrow(
    /several images: sha256:\w{64}, sha256:/,
  );
});

const oci = () => layout([{ layer: "x", platforms: ["amd64"] }]);

const without = (files: Files, path: string): Files =>
  Object.fromEntries(Object.entries(files).filter(([name]) => name !== path));

test.each<[string, Files, string]>([
  ["without its configuration", without(saved(["a", "amd64"]), "a.json"), "a.json is missing"],
  ["without a layer", without(saved(["a", "amd64"]), "a.tar"), "a.tar is missing"],
  ["of an OCI layout without a layer", without(oci(), blobOf("x-amd64")), "is missing"],
  [
    "of an OCI layout with a damaged manifest",
    Object.fromEntries(
      Object.entries(oci()).map(([path, content]) => [
        path,
        content.includes("layers") ? `${content} ` : content,
      ]),
    ),
    "is damaged",
  ],
  [
    "for another platform",
    saved(["a", "arm64"]),
    "The image is built for linux/arm64, but runners need",
  ],
  ["that skopeo wrote as dir:", { "manifest.json": "{}" }, "is not an image. Save the"],
  ["without a list of images", { "index.json": "[" }, "is not an image. Save the image"],
  ["of another kind", { "model.py": "" }, "has no manifest.json or index.json. Save the image"],
])("an archive %s is refused with advice", async (_, files, message) => {
  await expect(read(await tarOf(files))).rejects.toThrow(message);
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "auspex-archive-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("an archive is a tar, a compressed tar, or the folder of an OCI layout", async () => {
  const files = oci();
  const tar = await tarOf(files);
  writeFileSync(join(folder, "image.tar"), tar);
  writeFileSync(join(folder, "image.tar.gz"), gzipSync(tar));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, "layout", path)), { recursive: true });
    writeFileSync(join(folder, "layout", path), content);
  }
  for (const name of ["image.tar", "image.tar.gz", "layout"]) {
    const file = await ArchiveFile.open(join(folder, name), undefined, signal);
    const { layers } = await file.read(async () => {}, signal);
    expect(layers.map(({ path }) => path)).toEqual([blobOf("x-amd64")]);
  }
});

test("only layers of the chosen image are handed over", async () => {
  const [one, two] = [randomBytes(2 * 1024 * 1024), randomBytes(2 * 1024 * 1024)];
  const files = { ...saved(["one", "amd64"], ["two", "amd64"]), "one.tar": one, "two.tar": two };
  writeFileSync(join(folder, "image.tar"), await tarOf(files));
  const file = await ArchiveFile.open(join(folder, "image.tar"), "two", signal);
  const paths: string[] = [];
  await file.read(async (path, bytes) => {
    paths.push(path);
    expect(await buffer(bytes)).toEqual(two);
  }, signal);
  expect(paths).toEqual(["two.tar"]);
});

test("a path that has no archive, or half of one, is named in the error", async () => {
  const path = join(folder, "image.tar");
  const open = () => ArchiveFile.open(path, undefined, signal);
  await expect(open()).rejects.toThrow(`Not found: ${path}`);
  const whole = await archiveOf("oci", [randomBytes(2 * 1024 * 1024)]);
  for (const bytes of [whole.subarray(0, 1_000_000), gzipSync(whole).subarray(0, 1_000_000)]) {
    writeFileSync(path, bytes);
    await expect(open()).rejects.toThrow(/Can't read .*image\.tar: .*\. Save the image with/);
  }
  writeFileSync(path, "no tar".repeat(1_000));
  await expect(open()).rejects.toThrow(/Can't read .*image\.tar: .*\. Save the image with/);
  const failure = new Error("The push failed.");
  writeFileSync(path, whole);
  await expect((await open()).read(() => Promise.reject(failure), signal)).rejects.toBe(failure);
});
