/** Layers outside the registry, which a runner's engine would fetch from addresses that it must not reach. */
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

const config = bytesOf('{"architecture":"amd64","os":"linux"}');
const foreign = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip";
const urls = ["http://169.254.169.254/latest"];

const layerOf = (bytes: Uint8Array, extra: object) => ({
  mediaType: "application/vnd.oci.image.layer.v1.tar+gzip",
  digest: digestOf(bytes),
  size: bytes.byteLength,
  ...extra,
});

test("a manifest cannot name another user's layer by calling it foreign", async () => {
  const victim = await newRepository();
  const secret = randomBytes(100);
  await victim.push(secret);
  const attacker = await newRepository();
  await attacker.push(config);
  for (const extra of [{ urls }, { mediaType: foreign }, { mediaType: foreign, urls }]) {
    const manifest = manifestOf(config, [], { layers: [layerOf(secret, extra)] });
    expect((await attacker.putManifest("v1", manifest)).status, JSON.stringify(extra)).not.toBe(
      201,
    );
  }
});

test("a manifest or index with urls is refused, also if the content is in the registry", async () => {
  const repository = await newRepository();
  const layer = randomBytes(100);
  for (const bytes of [config, layer]) await repository.push(bytes);
  const plain = JSON.parse(manifestOf(config, [layer]));
  const withUrls = [
    { ...plain, layers: [layerOf(layer, { urls })] },
    { ...plain, config: { ...plain.config, urls } },
  ];
  for (const manifest of withUrls) {
    const answer = await repository.putManifest("v1", JSON.stringify(manifest));
    expect(await expectError(answer, 400, "MANIFEST_INVALID")).toContain("Push all layers");
  }
  const { digest, manifest } = await repository.pushImage("v2");
  const entry = { mediaType: MEDIA_TYPES.ociManifest, digest, size: manifest.length, urls };
  const index = JSON.stringify({ schemaVersion: 2, manifests: [entry] });
  const answer = await repository.putManifest("v3", index, MEDIA_TYPES.ociIndex);
  await expectError(answer, 400, "MANIFEST_INVALID");
});

test("a foreign layer that is in the registry is accepted", async () => {
  const repository = await newRepository();
  const layer = randomBytes(100);
  for (const bytes of [config, layer]) await repository.push(bytes);
  const manifest = manifestOf(config, [], { layers: [layerOf(layer, { mediaType: foreign })] });
  expect((await repository.putManifest("v1", manifest)).status).toBe(201);
});
