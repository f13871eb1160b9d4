/** Versions whose image is in the deployment's registry, which are read from the image. */
import { describe, expect, test } from "vitest";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import { COG_0_9, COG_0_22, cogLabelsOf, openapiOf } from "../../domain/images/samples.ts";
import { run } from "../support/accounts.ts";
import { newImages } from "../support/images.ts";

const cog = (openapi: string | undefined, config?: object) => ({
  Labels: cogLabelsOf("0.22.0", openapi, config),
});
const SCHEMAS = { prediction: { input: { type: "object" }, output: { type: "string" } } };

describe("an image of Cog", () => {
  test("a Cog image is published by its tag alone", async () => {
    const { images, client, id } = await newImages();
    const digest = await images.push("v1", cog(COG_0_22, { concurrency: { max: 4 } }));
    const made = await images.publish({ image: "v1" });
    expect(made).toMatchObject({
      number: 1,
      status: "ready",
      container_image_digest: digest,
      schemas: { prediction: { input: { required: ["messages"] }, stream_output: true } },
      compatibilities: { vendora_chat_completions: true, vendora_embeddings: false },
      configuration: { interface: "cog", max_concurrency: 4 },
      size: 0,
    });
    expect(await client.ok("GET", `${images.versions}/1`)).toEqual(made);
    const [row] = await run("SELECT * FROM versions WHERE model_id = ?", id);
    expect(row).toMatchObject({
      repository: `auspex/models/${id}`,
      platform: "linux/amd64",
      awaits: null,
    });
    expect(row?.compressed_size).toBeGreaterThan(5_000);
  });
});

describe("a server of OpenAI's API", () => {
  const vllm = { Entrypoint: ["vllm", "serve"] };

  test("a version of a server waits for its first start, which reports its calls", async () => {
    const { images } = await newImages();
    await images.push("v1", vllm);
    expect(await images.publish({ image: "v1" })).toMatchObject({
      status: "awaiting_first_start",
      schemas: { prediction: { input: { type: "object" }, output: {}, stream_output: false } },
      compatibilities: { vendora_chat_completions: false },
      configuration: { interface: "vendora" },
    });
  });

  test("a version of a server with given calls is ready, with the schemas of these calls", async () => {
    const { images } = await newImages();
    await images.push("v1", vllm);
    const made = await images.publish({
      image: "v1",
      compatibilities: { vendora_chat_completions: true },
    });
    expect(made).toMatchObject({
      status: "ready",
      schemas: { prediction: { input: { required: ["messages"] }, stream_output: true } },
    });
  });
});

describe("refusals", () => {
  test("a version with an image of another registry is refused with the fields that it needs", async () => {
    const { images, model } = await newImages();
    const container_image_digest = `sha256:${"a".repeat(64)}`;
    expect(await images.refused({ image: "v1" })).toBe(
      `image: 'v1' was not found in the repository ${model}. Push it first`,
    );
    expect(await images.refused({ container_image_digest })).toContain(
      "schemas: Field required: the image is not in this deployment's registry",
    );
    expect(await images.refused({ schemas: SCHEMAS })).toContain(
      "container_image_digest: Field required",
    );
  });

  test("a version with two images is refused", async () => {
    const { images, model } = await newImages();
    const digest = await images.push("v1", cog(COG_0_9));
    expect(await images.refused({ image: "v1", container_image_digest: digest })).toContain(
      "container_image_digest: Omit it",
    );
    const image = `registry.example.com/${model}`;
    expect(await images.refused({ image: "v1", configuration: { image } })).toContain(
      "configuration.image: Omit it",
    );
  });

  test("an image for another platform is refused, with the field that named it", async () => {
    const { images } = await newImages();
    const digest = await images.push("v1", {}, "arm64");
    const told =
      "It is built for linux/arm64, but runners require linux/amd64. Build it with: docker build";
    expect(await images.refused({ image: "v1", schemas: SCHEMAS })).toContain(`image: ${told}`);
    expect(await images.refused({ container_image_digest: digest })).toContain(
      `container_image_digest: ${told}`,
    );
  });

  test("an artifact is refused, and so is an image with an invalid configuration", async () => {
    const { images } = await newImages();
    const artifact = (digest: string, mediaType: string) =>
      JSON.stringify({ schemaVersion: 2, config: { mediaType, digest, size: 2 }, layers: [] });
    const digest = await images.pushBlob("{}");
    await images.put("kit", artifact(digest, MEDIA_TYPES.ociEmpty));
    expect(await images.refused({ image: "kit" })).toContain("It is not a container image");
    await images.put("empty", artifact(digest, MEDIA_TYPES.ociConfig));
    expect(await images.refused({ image: "empty" })).toContain("It is not a valid container image");
  });

  test("an image with unusable schemas in its labels is refused, unless the request has schemas", async () => {
    const { images } = await newImages();
    const broken = openapiOf({ Input: { $ref: "#/components/schemas/Nothing" }, Output: {} });
    await images.push("v1", cog(broken));
    expect(await images.refused({ image: "v1" })).toMatch(
      /^image: The schemas in the image's labels are invalid/,
    );
    expect(await images.publish({ image: "v1", schemas: SCHEMAS })).toMatchObject({
      status: "ready",
    });
  });

  test("an image whose schemas have over 100000 characters is refused", async () => {
    const { images } = await newImages();
    const values = Array.from({ length: 20_000 }, (_, n) => n);
    const large = openapiOf({ Input: { properties: { a: { enum: values } } }, Output: {} });
    await images.push("v1", cog(large));
    expect(await images.refused({ image: "v1" })).toBe(
      "image: The schemas in the image's labels are invalid: they can have at most 100000 characters as JSON. Send `schemas`",
    );
    expect(await images.publish({ image: "v1", schemas: SCHEMAS })).toMatchObject({
      status: "ready",
      schemas: SCHEMAS,
    });
  });

  test("an image with an invalid tag is refused", async () => {
    const { images } = await newImages();
    expect(await images.refused({ image: "no/tag" })).toContain("image");
  });
});

test("an image of another model is refused", async () => {
  const [mine, other] = [await newImages(), await newImages()];
  const digest = await mine.images.push("v1", cog(COG_0_9));
  expect(await other.images.refused({ image: digest })).toContain("Push it first");
});
