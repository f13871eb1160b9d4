/** What a request may have is bounded, and the document says how. */
import { expect, test } from "vitest";
import { operationsIn } from "../../src/openapi/document.ts";
import { resolved } from "../../src/openapi/reference.ts";
import type { Schema } from "../../src/openapi/types.ts";
import { bodyOf, documentIn, parametersOf, schemasOf } from "./support/document.ts";

const document = await documentIn("A");
const schemas = schemasOf(document);

/** The parts of a schema that may be anything, with the way to them. */
function* boundless(schema: Schema, at: string): Generator<string> {
  const { type, properties = {}, items, anyOf = [], ...limits } = resolved(schema, schemas);
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

test("texts, addresses, lists and whole numbers that are taken", () => {
  const found = operationsIn(document).flatMap(({ operation }) => {
    const id = operation.operationId ?? "";
    const body = bodyOf(operation);
    return [
      ...(body ? boundless(body, `${id} body`) : []),
      ...parametersOf(operation)
        // It is compared, and never looked into.
        .filter(({ name }) => name !== "if-none-match")
        .flatMap(({ name, schema = {} }) => [...boundless(schema, `${id} ${name}`)]),
    ];
  });
  expect(found).toEqual([]);
});
