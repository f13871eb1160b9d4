/** Validate-Input against schemas of users, none of which may cause a 500. */
import { expect, test } from "vitest";
import { countRows } from "../support/objects.ts";
import { DIGEST, newWorld } from "../support/world.ts";

const UNUSABLE = [{ $ref: "#/nowhere" }, { $ref: "https://example.com/schema" }, { $ref: "#" }];

const MALFORMED = [
  { properties: { a: { pattern: "[" } } },
  { properties: { a: { required: true } } },
  { properties: { a: { type: "text" } } },
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

test.each(MALFORMED)(
  "a version with a wrong keyword in its schema is refused, with the keyword's place: %j",
  async (input) => {
    const { client, model } = await newWorld();
    const { status, body } = await client.refused(`/v1/models/${model}/versions`, {
      release_notes: "",
      container_image_digest: DIGEST,
      schemas: { prediction: { input, output: {} } },
    });
    expect(status).toBe(422);
    const [keyword] = Object.keys(input.properties.a);
    expect(body.detail).toMatchObject([
      { loc: ["body", "schemas", "prediction", "input", "properties", "a", keyword] },
    ]);
  },
);

test("an input for a schema that doubles the work at each of 30 levels is a 422", async () => {
  const levels = Array.from({ length: 30 }, (_, n) => {
    const next = { $ref: `#/$defs/n${n + 1}` };
    return [`n${n}`, { allOf: [next, next] }];
  });
  const { client, model, user_id } = await newWorld({
    input: {
      $defs: { ...Object.fromEntries(levels), n30: {} },
      properties: { a: { $ref: "#/$defs/n0" } },
    },
  });
  const validated = { "validate-input": "true" };
  const { status, body } = await client.refused(
    "/v1/predictions",
    { model, input: { a: 1 } },
    validated,
  );
  expect(status).toBe(422);
  expect(body.detail).toMatchObject([
    { loc: ["body", "input"], msg: expect.stringContaining("too expensive to check") },
  ]);
  expect(await countRows(user_id)).toBe(0);
  expect((await client.create({ model, input: { b: 1 } }, validated)).status).toBe(202);
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
