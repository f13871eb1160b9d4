/** Bounds of requests: every text, list and number has one, and the document states it. */
import { expect, test } from "vitest";
import { operationsIn } from "../../../src/openapi/document.ts";
import { resolveSchema, type Schema } from "../../../src/openapi/types.ts";
import { bodyOf, documentIn, parametersOf, schemasOf } from "../support/document.ts";
import { newWorld } from "../support/world.ts";

/** Fields bounded by variables of the deployment; a refusal states the bound. */
const BY_VARIABLE = ["size", "retention_seconds"];

const document = await documentIn("A");
const schemas = schemasOf(document);

/** The parts of a schema that have no bound, with their paths. */
function* boundless(schema: Schema, at: string): Generator<string> {
  const { type, properties = {}, items, anyOf = [], ...limits } = resolveSchema(schema, schemas);
  const types = [type].flat();
  const isAny = types.length > 3;
  const bounded = limits.enum ?? limits.format ?? limits.pattern ?? limits.maxLength;
  if (!isAny && types.includes("string") && bounded === undefined) yield `${at}: string`;
  if (limits.format === "uri" && limits.pattern === undefined) yield `${at}: of any scheme`;
  if (types.includes("integer") && limits.maximum === undefined) yield `${at}: integer`;
  if (!isAny && types.includes("array") && limits.maxItems === undefined) yield `${at}: array`;
  for (const [name, part] of Object.entries(properties)) yield* boundless(part, `${at}.${name}`);
  for (const part of [...anyOf, ...(items ? [items] : [])]) yield* boundless(part, at);
}

test("texts, addresses, lists and whole numbers of requests are bounded", () => {
  const found = operationsIn(document).flatMap(({ operation }) => {
    const id = operation.operationId ?? "";
    const body = bodyOf(operation);
    return [
      ...(body ? boundless(body, `${id} body`) : []),
      ...parametersOf(operation)
        // The service only compares If-None-Match, and ignores a Prefer that it cannot use.
        .filter(({ name }) => name !== "if-none-match" && name !== "prefer")
        .flatMap(({ name, schema = {} }) => [...boundless(schema, `${id} ${name}`)]),
    ];
  });
  const byVariable = BY_VARIABLE.map((field) => `body.${field}: integer`);
  expect(found.filter((one) => !byVariable.some((end) => one.endsWith(end)))).toEqual([]);
});

test.each([2 ** 53 - 1, 2 ** 53, 1e21])(
  "a value of %d exceeds the bounds that variables set",
  async (much) => {
    const { client, model } = await newWorld();
    const bodies: [string, string, object][] = [
      ["size", "/v1/uploads", { size: much, mime_type: "image/png" }],
      ["retention_seconds", "/v1/predictions", { model, input: {}, retention_seconds: much }],
    ];
    expect(bodies.map(([field]) => field)).toEqual(BY_VARIABLE);
    for (const [field, path, body] of bodies) {
      const refusal = await client.refused(path, body);
      expect(refusal).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", field] }] } });
      expect(JSON.stringify(refusal.body)).toMatch(/less than or equal to \d+/);
    }
  },
);
