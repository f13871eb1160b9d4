/** A deployment behind an edge, and an engine that has one image, for the tests of `auspex publish`. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect } from "vitest";
import { manifest } from "../../../src/protocol/oci.ts";
import { archiveOf, type Format, fakeDocker } from "./archives.ts";
import { Home } from "./command.ts";
import { Edge } from "./edge.ts";
import { FakeDeployment } from "./fake-deployment.ts";
import { sha256 } from "./memory-registry.ts";

export const MIB = 1024 * 1024;
const CHUNKS = { "oci-chunk-max-length": String(MIB + 65_536) };

export let deployment: FakeDeployment;
export let edge: Edge;
export let home: Home;
/** A layer of incompressible bytes, a small layer, and one that is there twice. */
export let layers: Buffer[];

/**
 * Sets everything up before each test of a file, and removes it afterwards.
 * @param bytes of the first layer; the registry takes chunks of 1 MiB
 */
export function usePublish(bytes = 1_000): void {
  beforeEach(async () => {
    deployment = await FakeDeployment.open(CHUNKS);
    edge = await Edge.open(deployment.url, 2 * MIB);
    home = new Home({ AUSPEX_URL: edge.url, AUSPEX_TOKEN: "aus_x" });
    const twice = randomBytes(2_000);
    layers = [randomBytes(bytes), twice, Buffer.from("small"), twice, Buffer.alloc(4_000)];
    mkdirSync(join(home.folder, "story"));
    writeFileSync(join(home.folder, "story/Dockerfile"), "FROM scratch\n");
  });
  afterEach(() => {
    expect(readdirSync(join(home.folder, "cache/auspex/scratch"))).toEqual([]);
    edge.close();
    deployment.close();
    home.remove();
  });
}

export async function useEngine(
  format: Format,
  platform?: string,
  contents = layers,
): Promise<void> {
  const folder = fakeDocker(home.folder, await archiveOf(format, contents), platform);
  home.environment.PATH = [folder, process.env.PATH].join(delimiter);
}

export const calls = () => readFileSync(join(home.folder, "bin/calls"), "utf8");

/** Returns the manifest and the layers that the registry has under the tag. */
export function pushed(tag = "latest") {
  const { bytes, type } = deployment.registry.manifests.get(tag) ?? { bytes: Buffer.from("{}") };
  const one = manifest.parse(JSON.parse(bytes.toString()));
  const tars = one.layers.map(({ digest, size, mediaType }) => {
    const blob = deployment.registry.blobs.get(digest) ?? Buffer.alloc(0);
    expect([sha256(blob), blob.length]).toEqual([digest, size]);
    return mediaType.endsWith("gzip") ? gunzipSync(blob) : blob;
  });
  expect(deployment.registry.blobs.has(one.config.digest)).toBe(true);
  return { digest: sha256(bytes), type, tars };
}

export const patched = () => edge.bytesOf("PATCH").reduce((sum, bytes) => sum + bytes, 0);
