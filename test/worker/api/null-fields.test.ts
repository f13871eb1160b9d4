/** Optional fields of a body that are null: they clear what can be empty, and are absent otherwise. */
import { expect, test } from "vitest";
import { DIGEST, newUser, newWorld } from "../support/world.ts";

test("null clears the texts and lists of a model, which keep their types in answers", async () => {
  const { client, username } = await newUser();
  const empty = { description: null, overview: null, category_slugs: null };
  const created = await client.ok("POST", "/v1/models", { name: "poet", ...empty });
  expect(created).toMatchObject({ description: "", overview: "", categories: [] });
  const path = `/v1/models/${username}/poet`;
  await client.ok("PATCH", path, { description: "Rhymes", overview: "# Poet" });
  expect(await client.ok("PATCH", path, { description: null })).toMatchObject({
    description: "",
    overview: "# Poet",
  });
  expect(await client.ok("PATCH", path, empty)).toMatchObject({ description: "", overview: "" });
});

test("null is no configuration and no compatibilities of a version, and no webhook", async () => {
  const { client, model } = await newWorld();
  const version = await client.ok("POST", `/v1/models/${model}/versions`, {
    release_notes: "",
    container_image_digest: DIGEST,
    schemas: { prediction: { input: {}, output: {} } },
    configuration: null,
    compatibilities: null,
  });
  expect(version).toMatchObject({
    configuration: {},
    compatibilities: { vendora_embeddings: false },
  });
  expect((await client.create({ model, input: {}, webhook: null })).status).toBe(202);
});
