/** The part of a hostile schema that a page shows. */
import { expect, test } from "vitest";
import { displaySchema } from "../../src/dashboard/models/display-schema.ts";
import type { Json } from "../../src/protocol/common.ts";

const names = Array.from({ length: 3_000 }, (_, n) => `name${n}`);

test.each<[string, Json]>([
  ["properties", { properties: Object.fromEntries(names.map((name) => [name, true])) }],
  ["required names", { required: names }],
])("a schema of 90 KB that merges thousands of %s many times is shown in part", (_, part) => {
  const allOf = Array<Json>(1_900).fill({ $ref: "#/$defs/a" });
  const { schema, complete } = displaySchema({ $defs: { a: part }, allOf });
  expect(complete).toBe(false);
  expect(JSON.stringify(schema).length).toBeLessThan(500_000);
});
