/** More versions that are read from images: overridden fields, indexes and inherited configurations. */
import { describe, expect, test } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import { COG_0_9, COG_0_22, cogLabelsOf } from "../../domain/images/samples.ts";
import { newImages } from "../support/images.ts";

const cog = (openapi: string | undefined, config?: object) => ({
  Labels: cogLabelsOf("0.22.0", openapi, config),
});
const SCHEMAS = { prediction: { input: { type: "object" }, output: { type: "string" } } };

describe("an image of Cog", () => {
  test.each(["image", "container_image_digest"])(
    "a Cog image can be named by its digest as %s",
    async (field) => {
      const { images } = await newImages();
      const digest = await images.push("v1", cog(COG_0_9));
      expect(await images.publish({ [field]: digest })).toMatchObject({
        container_image_digest: digest,
        schemas: { prediction: { input: { required: ["prompt"] } } },
      });
    },
  );

  test("fields of the request override those of the image", async () => {
    const { images } = await newImages();
    await images.push("v1", cog(COG_0_22, { concurrency: { max: 4 } }));
    expect(await images.publish({ image: "v1", schemas: SCHEMAS })).toMatchObject({
      schemas: SCHEMAS,
      // Compatibilities follow from the request's schemas.
      compatibilities: { vendora_chat_completions: false },
    });
    expect(
      await images.publish({
        image: "v1",
        compatibilities: { vendora_embeddings: true },
        configuration: { max_concurrency: 2, timeout_seconds: 60 },
      }),
    ).toMatchObject({
      schemas: { prediction: { input: { required: ["messages"] } } },
      compatibilities: { vendora_chat_completions: false, vendora_embeddings: true },
      configuration: { interface: "cog", max_concurrency: 2, timeout_seconds: 60 },
    });
  });

  test("a Cog image is read from an index, whose digest the version has", async () => {
    const { images } = await newImages();
    const digest = await images.push("part", cog(COG_0_9));
    const platform = { os: "linux", architecture: "amd64" };
    const manifests = [{ ...images.entry(digest), platform }];
    const index = await images.put(
      "latest",
      JSON.stringify({ schemaVersion: 2, manifests }),
      MEDIA_TYPES.ociIndex,
    );
    expect(await images.publish({ image: "latest" })).toMatchObject({
      container_image_digest: index,
      schemas: { prediction: { input: { required: ["prompt"] } } },
    });
  });
});

describe("configurations", () => {
  test("a version inherits configuration of a request, but not that of an image", async () => {
    const { images } = await newImages();
    await images.push("four", cog(COG_0_9, { concurrency: { max: 4 } }));
    await images.push("plain", cog(COG_0_9));
    await images.publish({ image: "four", configuration: { timeout_seconds: 60 } });
    const { configuration } = await images.publish({ image: "plain" });
    expect(configuration).toMatchObject({ interface: "cog", timeout_seconds: 60 });
    expect(configuration).not.toHaveProperty("max_concurrency");
  });

  test("a version of this registry's image does not inherit a repository of another registry", async () => {
    const { images, client, model } = await newImages();
    const repository = `registry.example.com/${model.split("/")[0]}/elsewhere`;
    await images.publish({
      container_image_digest: `sha256:${"a".repeat(64)}`,
      schemas: SCHEMAS,
      configuration: { image: repository, idle_seconds: 5 },
    });
    const digest = await images.push("v1", cog(COG_0_9));
    const { configuration } = await images.publish({ container_image_digest: digest });
    expect(configuration).toMatchObject({ idle_seconds: 5 });
    expect(configuration).not.toHaveProperty("image");
    const found = await client.ok<Model>("GET", `/v1/models/${model}`);
    expect(found.latest_version?.configuration).toEqual(configuration);
  });
});

describe("a server of OpenAI's API", () => {
  const vllm = { Entrypoint: ["vllm", "serve"] };

  test("a version of a server with given schemas waits for its calls", async () => {
    const { images } = await newImages();
    await images.push("v1", vllm);
    const made = await images.publish({ image: "v1", schemas: SCHEMAS });
    expect(made).toMatchObject({ status: "awaiting_first_start", schemas: SCHEMAS });
  });
});
