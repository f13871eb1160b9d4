/** Each visit of a schema takes time in proportion to the value. */
import { expect, test } from "vitest";
import { checkSchema, validateInput } from "../../../src/domain/schemas/json-schema.ts";
import type { Json } from "../../../src/protocol/common.ts";

type Part = Record<string, Json>;

const long = "a".repeat(2_000_000);
const wide: Json = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, 1]));
const list: Json = Array<number>(50_000).fill(1);

/** Returns a schema that checks an input against one part `count` times. */
const times = (count: number, part: Json): Part => ({
  $defs: { part },
  allOf: Array.from({ length: count }, () => ({ $ref: "#/$defs/part" })),
});

test.each<[string, Part, Json]>([
  ["the length of a long text", times(2_000, { maxLength: 1e9 }), long],
  ["the format of a long text", times(2_000, { format: "json-pointer" }), long],
  ["the names of a wide object", times(2_000, { propertyNames: true }), wide],
  ["the number of names", times(2_000, { minProperties: 1 }), wide],
  ["names that all fit", times(2_000, { additionalProperties: true }), wide],
  [
    "names beside a pattern that is not tried",
    times(2_000, { patternProperties: { "(?=a)": {} } }),
    wide,
  ],
  ["a long list of allowed values", { enum: [...Array<Json>(20_000).fill({}), wide] }, wide],
  ["items that all fit", times(2_000, { items: true }), list],
])("a validation that checks %s ends", (_, schema, input) => {
  checkSchema(schema, ["body"]);
  expect(() => validateInput(schema, input)).toThrow(
    expect.objectContaining({
      issues: [
        expect.objectContaining({
          msg: expect.stringMatching(/too expensive to check: validation takes more/),
        }),
      ],
    }),
  );
});

test("a large value that is visited a few times is validated", () => {
  const schema = {
    type: "object",
    properties: {
      image: { type: "string", format: "uri", maxLength: 10_000_000 },
      words: { type: "object", additionalProperties: { type: "integer" } },
      list: { type: "array", items: true },
    },
    patternProperties: { "^(?=x)": { type: "integer" } },
    additionalProperties: false,
  };
  const words = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, n]));
  const input = {
    image: `data:image/png;base64,${long}`,
    words,
    list: Array<number>(10_000).fill(1),
  };
  expect(() => validateInput(schema, input)).not.toThrow();
  expect(() => validateInput(schema, { ...input, words: { ...words, last: "x" } })).toThrow();
});
