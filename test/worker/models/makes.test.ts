/** The lists of models by the kind of their output. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { newModel } from "../support/catalogue.ts";
import { DIGEST, newUser } from "../support/world.ts";

const listedAs = async (id: string) => {
  const { results } = await env.DB.prepare(
    "SELECT owner_id, category_slug FROM listings WHERE model_id = ? AND category_slug LIKE 'makes:%' ORDER BY owner_id",
  )
    .bind(id)
    .all<{ owner_id: string; category_slug: string }>();
  return results.map(({ owner_id, category_slug }) => [owner_id, category_slug]);
};

test("a model is listed by what its latest version makes, while it is not private", async () => {
  const { client, username, user_id } = await newUser();
  const { id } = await newModel(client, { name: "maker", visibility: "public" });
  const path = `/v1/models/${username}/maker`;
  const publish = (output: object) =>
    client.ok("POST", `${path}/versions`, {
      release_notes: "",
      container_image_digest: DIGEST,
      schemas: { prediction: { input: {}, output } },
    });
  expect(await listedAs(id)).toEqual([]);
  await publish({ type: "string" });
  const text = [
    ["", "makes:text"],
    [user_id, "makes:text"],
  ];
  expect(await listedAs(id)).toEqual(text);
  await publish({ type: "object" });
  expect(await listedAs(id)).toEqual([
    ["", "makes:data"],
    [user_id, "makes:data"],
  ]);
  await client.ok("PATCH", path, { visibility: "private" });
  expect(await listedAs(id)).toEqual([]);
  await publish({ type: "string" });
  expect(await listedAs(id)).toEqual([]);
  await client.ok("PATCH", path, { visibility: "restricted" });
  expect(await listedAs(id)).toEqual(text);
  await publish({});
  expect(await listedAs(id)).toEqual([]);
});
