import { describe, expect, test } from "vitest";
import { selectImage, UnfitImage, weightsOf } from "../../../src/domain/images/select-image.ts";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import { indexOf, sha } from "./samples.ts";

const amd64 = { os: "linux", architecture: "amd64" };
const arm64 = { os: "linux", architecture: "arm64", variant: "v8" };
const attestation = {
  os: "unknown",
  architecture: "unknown",
  annotations: { "vnd.docker.reference.type": "attestation-manifest" },
};
const weight = {
  os: "unknown",
  architecture: "unknown",
  artifactType: MEDIA_TYPES.cogWeight,
  annotations: {
    "run.cog.weight.name": "base",
    "run.cog.weight.set-digest": sha("d"),
    "run.cog.weight.size.uncompressed": "32457803776",
  },
};

describe("the image of an index", () => {
  test.each([
    ["of buildx, with attestations", { a: arm64, b: attestation, c: amd64, d: attestation }, "c"],
    ["of docker 29, for one platform", { c: amd64, d: attestation }, "c"],
    ["of cog, with weights", { a: weight, c: amd64 }, "c"],
    ["of one image without a platform", { c: {}, d: attestation }, "c"],
    ["beside another index", { a: { ...amd64, mediaType: MEDIA_TYPES.ociIndex }, c: amd64 }, "c"],
  ])("the image of an index is selected: %s", (_, entries, expected) => {
    expect(selectImage(indexOf(entries)).digest).toBe(sha(expected));
  });

  test("an index for another platform is refused, with the command that builds the right one", () => {
    const select = () => selectImage(indexOf({ a: arm64, b: attestation }));
    expect(select).toThrow(UnfitImage);
    expect(select).toThrow("It is for linux/arm64/v8, and runners run linux/amd64.");
    expect(select).toThrow("docker build --platform linux/amd64");
  });

  test.each([
    ["nothing", {}, "no image for linux/amd64"],
    ["weights alone", { a: weight }, "no container image"],
    ["several without a platform", { a: {}, b: {} }, "no image for linux/amd64"],
  ])("an index with %s is refused", (_, entries, message) => {
    expect(() => selectImage(indexOf(entries))).toThrow(message);
  });
});

test("the weights of an index are read as the index lists them", () => {
  const broken = { ...weight, annotations: { "run.cog.weight.size.uncompressed": "-1" } };
  expect(weightsOf(indexOf({ a: weight, b: broken, c: amd64, d: attestation }))).toEqual([
    { digest: sha("a"), name: "base", setDigest: sha("d"), size: 32_457_803_776 },
    { digest: sha("b"), name: "", setDigest: undefined, size: undefined },
  ]);
});
