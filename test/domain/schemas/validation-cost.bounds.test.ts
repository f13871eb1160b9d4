/** Bounds on the reads and the memory of a validation, for any schema and input. */

import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { expect, test } from "vitest";
import { SchemaParts } from "../../../src/domain/schemas/json-schema-parts.ts";
import { type Keywords, schemaShape } from "../../../src/domain/schemas/json-schema-shape.ts";
import { validate } from "../../../src/domain/schemas/json-schema-validator.ts";
import { Meter, TooCostly } from "../../../src/domain/schemas/json-schema-visit.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { sized } from "../../support/sized.ts";

/** Large values, so that reads that are not charged show. */
const NAMES = Array.from({ length: 300 }, (_, n) => `n${n}`);
const wide: Json = Object.fromEntries(NAMES.map((name) => [name, 1]));
const list: Json = NAMES.map((_, n) => n % 7);
const values: Json[] = [
  wide,
  list,
  [wide, list],
  { n1: wide, n2: list },
  "x".repeat(2_000),
  5,
  null,
];

const { part } = fc.letrec<{ part: Record<string, unknown> }>((tie) => {
  const one = fc.oneof(
    { maxDepth: 3 },
    fc.boolean(),
    fc.constant({ $ref: "#/$defs/n1" }),
    tie("part"),
  );
  const several = fc.array(one, { minLength: 1, maxLength: 3 });
  const name = fc.constantFrom(...NAMES.slice(0, 5));
  const named = fc.dictionary(name, one, { maxKeys: 3 });
  const names = fc.constantFrom(NAMES, ["absent"], [...NAMES, "absent"]);
  const count = fc.constantFrom(0, 1, 299, 1_000);
  const number = fc.constantFrom(0.1, 1, 7);
  const pattern = fc.constantFrom("^n", "(?=a)", "x{3}", "(a|b)*c");
  const value = fc.constantFrom(...values);
  // A keyword that is added to the shape fails the type check here until it has a generator.
  const keywords: { [Name in keyof Keywords]-?: fc.Arbitrary<unknown> } = {
    $id: fc.constant(undefined),
    $anchor: fc.constant(undefined),
    $ref: fc.constantFrom("#/$defs/n1", "#/$defs/n2"),
    $defs: fc.constant(undefined),
    definitions: named,
    components: fc.record({ schemas: named }),
    type: fc.constantFrom("object", "array", ["string", "null"]),
    const: value,
    enum: fc.array(value, { maxLength: 20 }),
    allOf: several,
    anyOf: several,
    oneOf: several,
    not: one,
    if: one,
    // biome-ignore lint/suspicious/noThenProperty: a keyword, of a schema that nobody awaits.
    then: one,
    else: one,
    format: fc.constantFrom("uri", "email", "date-time", "regex", "json-pointer"),
    properties: named,
    patternProperties: fc.dictionary(pattern, one, { maxKeys: 2 }),
    additionalProperties: one,
    unevaluatedProperties: one,
    propertyNames: one,
    required: names,
    dependentRequired: fc.dictionary(name, names, { maxKeys: 3 }),
    dependentSchemas: named,
    minProperties: count,
    maxProperties: count,
    prefixItems: several,
    items: fc.oneof(one, several),
    additionalItems: one,
    unevaluatedItems: one,
    contains: one,
    minContains: count,
    maxContains: count,
    minItems: count,
    maxItems: count,
    uniqueItems: fc.boolean(),
    minimum: number,
    maximum: number,
    exclusiveMinimum: number,
    exclusiveMaximum: number,
    multipleOf: number,
    minLength: count,
    maxLength: count,
    pattern,
  };
  const each = Object.entries(keywords).map(([keyword, limit]) =>
    limit.map((one) => (one === undefined ? {} : { [keyword]: one })),
  );
  return {
    part: fc
      .array(fc.oneof(...each), { minLength: 1, maxLength: 4 })
      .map((all) => Object.assign({}, ...all)),
  };
});

const schemas = fc
  .record({ root: part, n1: part, n2: part })
  .map(({ root, n1, n2 }) => ({ ...root, $defs: { n1, n2 } }));

/** Returns a wrapper of values that counts each property that is read or listed, also in nested values. */
function counting(onRead: (count: number) => void) {
  const known = new WeakMap<object, object>();
  const counted = <Value>(value: Value): Value => {
    if (typeof value !== "object" || value === null) return value;
    const proxy = known.get(value) ?? new Proxy(value, handler);
    known.set(value, proxy);
    return proxy as Value;
  };
  const handler: ProxyHandler<object> = {
    get(target, name, self) {
      onRead(1);
      return counted(Reflect.get(target, name, self));
    },
    ownKeys(target) {
      const names = Reflect.ownKeys(target);
      onRead(names.length);
      return names;
    },
    getOwnPropertyDescriptor(target, name) {
      onRead(1);
      return Reflect.getOwnPropertyDescriptor(target, name);
    },
  };
  return counted;
}

test("a validation reads no more of any schema and input than it counts steps", () => {
  fc.assert(
    fc.property(schemas, fc.constantFrom(...values), (schema, input) => {
      let reads = 0;
      const counted = counting((count) => {
        reads += count;
      });
      const parts = new SchemaParts(counted(schemaShape.parse(schema)));
      const ofParts = reads;
      const meter = new Meter(100_000);
      try {
        const issues = validate(parts, counted(input), () => undefined, meter);
        expect(issues.length).toBeLessThanOrEqual(20);
      } catch (error) {
        if (!(error instanceof TooCostly || error instanceof RangeError)) throw error;
      }
      // The keywords of a part are collected once, and charged with the part's first visit.
      expect(reads - ofParts).toBeLessThanOrEqual(4 * meter.steps + 50 * ofParts);
    }),
    { numRuns: sized(500, 3_000) },
  );
});

test("a validation needs little memory and answers briefly, whatever its keywords find", async () => {
  const worker = new Worker(new URL("costly-validations.ts", import.meta.url), {
    // The inputs take 40 MB and the packages 20 MB.
    resourceLimits: { maxOldGenerationSizeMb: 100, maxYoungGenerationSizeMb: 16 },
  });
  const sizes: Record<string, number> = {};
  worker.on("message", ({ name, size }: { name: string; size: number }) => {
    sizes[name] = size;
  });
  await new Promise((resolve, reject) => {
    worker.once("exit", resolve);
    worker.once("error", reject);
  });
  for (const [name, size] of Object.entries(sizes))
    expect([name, size < 100_000]).toEqual([name, true]);
});
