/** Valid and invalid manifests and indexes. */
import { expect, test } from "vitest";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import {
  bytesOf,
  digestOf,
  expectError,
  manifestOf,
  newRepository,
  randomBytes,
} from "../support/registry.ts";

const LAYER = "application/vnd.oci.image.layer.v1.tar+gzip";

const named = (bytes: Uint8Array, mediaType: string) => ({
  mediaType,
  digest: digestOf(bytes),
  size: bytes.byteLength,
});

test("an index can name blobs as BuildKit's cache does, and keeps them", async () => {
  const repository = await newRepository();
  const [layer, config] = [randomBytes(1_000), bytesOf('{"layers":[],"records":[]}')];
  const index = JSON.stringify({
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.ociIndex,
    manifests: [named(layer, LAYER), named(config, "application/vnd.buildkit.cacheconfig.v0")],
  });
  const put = () => repository.putManifest("cache", index, MEDIA_TYPES.ociIndex);
  await expectError(await put(), 404, "MANIFEST_BLOB_UNKNOWN");
  for (const bytes of [layer, config]) await repository.push(bytes);
  expect((await put()).status).toBe(201);
  const read = await repository.send("GET", "manifests/cache");
  expect(await read.text()).toBe(index);
  await expectError(await repository.send("DELETE", `blobs/${digestOf(layer)}`), 409, "DENIED");
});

test("an index does not take a blob for a manifest", async () => {
  const repository = await newRepository();
  const manifest = bytesOf(manifestOf(bytesOf("{}"), []));
  await repository.push(manifest);
  const index = JSON.stringify({
    schemaVersion: 2,
    manifests: [named(manifest, MEDIA_TYPES.ociManifest)],
  });
  await expectError(
    await repository.putManifest("latest", index, MEDIA_TYPES.ociIndex),
    404,
    "MANIFEST_BLOB_UNKNOWN",
  );
});

test("a media type may have parameters, as podman's and oras' artifacts have", async () => {
  const repository = await newRepository();
  const [config, file] = [bytesOf("{}"), bytesOf("text")];
  for (const bytes of [config, file]) await repository.push(bytes);
  const manifest = manifestOf(config, [], {
    layers: [named(file, "text/plain; charset=utf-8")],
    artifactType: 'application/vnd.example; a="b"',
  });
  expect((await repository.putManifest("files", manifest)).status).toBe(201);
});

test.each([
  ["a size that is not its layer's", (size: number) => ({ size: size + 1 })],
  ["an invalid media type", () => ({ mediaType: "text plain" })],
])("a manifest with %s is refused", async (_, wrong) => {
  const repository = await newRepository();
  const [config, layer] = [bytesOf("{}"), randomBytes(100)];
  for (const bytes of [config, layer]) await repository.push(bytes);
  const layers = [{ ...named(layer, LAYER), ...wrong(layer.byteLength) }];
  const put = await repository.putManifest("latest", manifestOf(config, [], { layers }));
  await expectError(put, 400, "MANIFEST_INVALID");
});

test("an index with a size that is not its manifest's is refused", async () => {
  const repository = await newRepository();
  const { manifest } = await repository.pushImage();
  const entry = { ...named(bytesOf(manifest), MEDIA_TYPES.ociManifest), size: 1 };
  const index = JSON.stringify({ schemaVersion: 2, manifests: [entry] });
  const put = await repository.putManifest("all", index, MEDIA_TYPES.ociIndex);
  await expectError(put, 400, "MANIFEST_INVALID");
});

test("a document that begins with a byte order mark, or is both manifest and index, is refused", async () => {
  const repository = await newRepository();
  const [config, layer] = [bytesOf("{}"), randomBytes(100)];
  for (const bytes of [config, layer]) await repository.push(bytes);
  const manifest = manifestOf(config, [layer]);
  for (const text of [`\ufeff${manifest}`, manifestOf(config, [layer], { manifests: [] })])
    await expectError(await repository.putManifest("latest", text), 400, "MANIFEST_INVALID");
  const index = JSON.stringify({ schemaVersion: 2, manifests: [], layers: [] });
  const put = await repository.putManifest("latest", index, MEDIA_TYPES.ociIndex);
  await expectError(put, 400, "MANIFEST_INVALID");
});

test("several ranges of a blob are answered with the parts that Podman reads", async () => {
  const repository = await newRepository();
  const bytes = bytesOf("0123456789".repeat(100));
  const digest = await repository.push(bytes);
  const read = (range: string) => repository.send("GET", `blobs/${digest}`, { headers: { range } });
  const response = await read("bytes=0-3,995-,7-7");
  expect(response.status).toBe(206);
  const [, boundary = ""] =
    /^multipart\/byteranges; boundary=(\S+)$/.exec(response.headers.get("content-type") ?? "") ??
    [];
  const text = await response.text();
  expect(response.headers.get("content-length")).toBe(String(text.length));
  const part = (range: string, content: string) =>
    `\r\n--${boundary}\r\ncontent-type: application/octet-stream\r\ncontent-range: bytes ${range}/1000\r\n\r\n${content}`;
  expect(text).toBe(
    `${part("0-3", "0123")}${part("995-999", "56789")}${part("7-7", "7")}\r\n--${boundary}--\r\n`,
  );
  const one = await read("bytes=0-3,5000-");
  expect([one.status, one.headers.get("content-range"), await one.text()]).toEqual([
    206,
    "bytes 0-3/1000",
    "0123",
  ]);
  // Overlapping ranges are answered with the whole blob.
  const all = await read("bytes=0-900,0-900");
  expect([all.status, (await all.text()).length]).toEqual([200, 1_000]);
  const many = Array.from({ length: 101 }, (_, n) => `${n}-${n}`).join(",");
  await expectError(await read(`bytes=${many}`), 400, "SIZE_INVALID");
});
