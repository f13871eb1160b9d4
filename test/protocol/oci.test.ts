/** Manifests and configurations that real clients push, as far as they are read. */
import { describe, expect, test } from "vitest";
import {
  descriptor,
  imageConfig,
  index,
  kindOf,
  MEDIA_TYPES,
  manifest,
  ociDigest,
  tag,
} from "../../src/protocol/oci.ts";

const sha256 = `sha256:${"a".repeat(64)}`;
const config = { mediaType: MEDIA_TYPES.ociConfig, digest: sha256, size: 7 };

describe("manifests", () => {
  test("null (from Go) counts as absent", () => {
    const parsed = manifest.parse({ schemaVersion: 2, config, layers: null, annotations: null });
    expect(parsed).toMatchObject({ layers: [], annotations: {} });
    expect(index.parse({ schemaVersion: 2, manifests: null }).manifests).toEqual([]);
  });

  test("a manifest without a media type is no index", () => {
    expect(index.safeParse({ schemaVersion: 2, config, layers: [] }).success).toBe(false);
  });

  test("unknown fields are dropped", () => {
    const parsed = manifest.parse({ schemaVersion: 2, config, layers: [], custom: [1] });
    expect(parsed).not.toHaveProperty("custom");
  });

  test("a descriptor keeps the fields that registries and readers need", () => {
    const whole = {
      mediaType: "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
      digest: `sha512:${"b".repeat(128)}`,
      size: 0,
      urls: ["https://example.com/layer"],
      data: "e30=",
      annotations: { "run.cog.weight.name": "base" },
      platform: { architecture: "arm64", os: "linux", variant: "v8" },
      artifactType: MEDIA_TYPES.cogWeight,
    };
    expect(descriptor.parse(whole)).toEqual(whole);
  });

  test.each([
    ["of schema 1", { schemaVersion: 1, config, layers: [] }],
    [
      "with a layer of negative size",
      { schemaVersion: 2, config, layers: [{ ...config, size: -1 }] },
    ],
    ["that says it is an index", { schemaVersion: 2, config, mediaType: MEDIA_TYPES.ociIndex }],
    ["without a configuration", { schemaVersion: 2, layers: [] }],
  ])("a manifest %s is refused", (_, body) => {
    expect(manifest.safeParse(body).success).toBe(false);
  });

  test("the media type tells manifests from indexes", () => {
    expect(kindOf(MEDIA_TYPES.dockerManifest)).toBe("manifest");
    expect(kindOf(`${MEDIA_TYPES.ociIndex}; charset=utf-8`)).toBe("index");
    expect(kindOf("application/vnd.docker.distribution.manifest.v1+json")).toBeUndefined();
  });
});

test("a configuration that docker writes without settings is read", () => {
  const parsed = imageConfig.parse({
    architecture: "amd64",
    os: "linux",
    config: { Labels: null, Entrypoint: null, Cmd: ["sh"], ExposedPorts: { "80/tcp": {} } },
    rootfs: { type: "layers", diff_ids: [] },
  });
  expect(parsed.config).toEqual({
    Labels: {},
    Entrypoint: [],
    Cmd: ["sh"],
    Env: [],
    ExposedPorts: ["80/tcp"],
  });
});

test("digests and tags are recognized", () => {
  const isDigest = (text: string) => ociDigest.safeParse(text).success;
  expect([sha256, `sha512:${"a".repeat(128)}`].every(isDigest)).toBe(true);
  expect([sha256.slice(1), `md5:${"a".repeat(32)}`, sha256.toUpperCase()].some(isDigest)).toBe(
    false,
  );
  const isTag = (text: string) => tag.safeParse(text).success;
  expect(["latest", "1.0-rc_1", "_", "a".repeat(128)].every(isTag)).toBe(true);
  expect(["", "-a", ".a", "a/b", "a:b", "a".repeat(129)].some(isTag)).toBe(false);
});
