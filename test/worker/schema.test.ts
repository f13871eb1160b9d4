/** Validate-Input against schemas that users wrote: whatever they are, no answer is a 500. */
import { expect, test } from "vitest";
import { countRows } from "./support/objects.ts";
import { DIGEST, newWorld } from "./support/world.ts";

const UNUSABLE = [
  { $ref: "#/nowhere" },
  { $ref: "https://example.com/schema" },
  { type: "object", properties: { a: { pattern: "[" } } },
];

test.each(UNUSABLE)("a version with a schema that cannot be used is refused: %j", async (input) => {
  const { client, model } = await newWorld();
  const { status, body } = await client.refused(`/v1/models/${model}/versions`, {
    release_notes: "",
    container_image_digest: DIGEST,
    schemas: { prediction: { input, output: {} } },
  });
  expect(status).toBe(422);
  expect(body.detail).toMatchObject([{ loc: ["body", "schemas", "prediction", "input"] }]);
});

test("an input nested deeper than a recursive schema can follow is a 422", async () => {
  const node = {
    type: ["object", "array"],
    additionalProperties: { $ref: "#/$defs/node" },
    items: { $ref: "#/$defs/node" },
  };
  const { client, model, user_id } = await newWorld({
    input: { $ref: "#/$defs/node", $defs: { node } },
  });
  const body = `{"model":"${model}","input":{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}}`;
  const { status } = await client.refused("/v1/predictions", body, { "validate-input": "true" });
  expect(status).toBe(422);
  expect(await countRows(user_id)).toBe(0);
});
