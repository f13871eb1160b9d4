/** Inputs that make each keyword as costly as possible. Run as a worker thread. */
import { parentPort } from "node:worker_threads";
import { validateInput } from "../../../src/domain/schemas/json-schema.ts";
import { ValidationFailure } from "../../../src/domain/schemas/validation.ts";
import type { Json } from "../../../src/protocol/common.ts";

type Schema = Record<string, Json>;

const range = (length: number) => Array.from({ length }, (_, n) => n);
const names = range(60).map((n) => `a${n}`);
const everywhere = (part: Json): Schema => ({ items: part });
/** Returns an array schema that checks each item against `part` `count` times, in one union. */
const branches = (count: number, part: Json): Schema => ({
  $defs: { part },
  items: { anyOf: range(count).map(() => ({ $ref: "#/$defs/part" })) },
});
const items = (length: number, item: Json): Json => range(length).map(() => item);
const nestedLists = (levels: number): Json => {
  let value: Json = [1];
  for (let n = 0; n < levels; n++) value = [value];
  return value;
};

const CASES: Record<string, [Schema, Json]> = {
  dependentRequired: [everywhere({ dependentRequired: { a: names } }), items(200_000, { a: 1 })],
  "dependentRequired in unions": [
    branches(100, { dependentRequired: { a: names } }),
    items(100_000, { a: 1 }),
  ],
  "required in unions": [branches(100, { required: names }), items(100_000, {})],
  "a pattern that is quoted": [branches(3_000, { pattern: "y".repeat(5_000) }), items(1_000, "x")],
  "values that are quoted": [branches(1_000, { enum: range(9_000) }), items(1_000, "x")],
  "a name that is quoted": [
    { additionalProperties: { additionalProperties: false } },
    { ["n".repeat(4_000_000)]: Object.fromEntries(names.map((name) => [name, 1])) },
  ],
  "issues at each level": [
    {
      $defs: { a: { items: { $ref: "#/$defs/a" }, anyOf: [{ type: "string" }, { minItems: 2 }] } },
      $ref: "#/$defs/a",
    },
    nestedLists(500),
  ],
  "names of all objects": [everywhere({ minProperties: 1 }), items(300_000, { a: 1 })],
  "unevaluated names through references": [
    {
      $defs: Object.fromEntries([
        ["d0", { additionalProperties: true }],
        ...range(1_000).map((n) => [`d${n + 1}`, { $ref: `#/$defs/d${n}` }]),
      ]),
      $ref: "#/$defs/d1000",
      unevaluatedProperties: false,
    },
    Object.fromEntries(range(20_000).map((n) => [`k${n}`, n])),
  ],
  "a date of spaces": [everywhere({ format: "date-time" }), [" ".repeat(9_000_000)]],
  "a long text": [everywhere({ maxLength: 1 }), ["🐈".repeat(4_000_000)]],
  "many patterns": [
    { items: { anyOf: range(1_000).map((n) => ({ pattern: `\\p{L}{20}${n}` })) } },
    items(1_000, "x".repeat(20)),
  ],
};

for (const [name, [schema, input]] of Object.entries(CASES)) {
  const began = performance.now();
  let size = 0;
  try {
    validateInput(schema, input);
  } catch (error) {
    if (!(error instanceof ValidationFailure)) throw error;
    size = JSON.stringify(error.issues).length;
  }
  parentPort?.postMessage({ name, size, milliseconds: performance.now() - began });
}
