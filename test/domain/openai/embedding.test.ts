import fc from "fast-check";
import { expect, test } from "vitest";
import { embeddingsOf } from "../../../src/domain/openai/embedding.ts";
import { TranslationFailed } from "../../../src/domain/openai/translation.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Metrics } from "../../../src/protocol/event.ts";
import { expectEmbeddings } from "../../published/validate.ts";

const MODEL = "ada/embedder";
const AB = [0.5, -1.25];
const CD = [3, 2 ** -20];

/** Decodes base64 like both official clients do. */
const floatsIn = (base64: unknown) => {
  if (typeof base64 !== "string") throw new Error("no base64");
  const { buffer, byteOffset, length } = Buffer.from(base64, "base64");
  return Array.from(new Float32Array(buffer.slice(byteOffset, byteOffset + length)));
};
const base64Of = (floats: number[]) =>
  Buffer.from(new Float32Array(floats).buffer).toString("base64");

function floats(outputs: Json[], metrics: Metrics | null = null) {
  const list = embeddingsOf(MODEL, outputs, "float", { metrics });
  expectEmbeddings(list);
  return list;
}

/** Returns the list with its base64 decoded, as the published description has it. */
function decoded(outputs: Json[]) {
  const { data, ...list } = embeddingsOf(MODEL, outputs, "base64", { metrics: null });
  const all = {
    ...list,
    data: data.map((one) => ({ ...one, embedding: floatsIn(one.embedding) })),
  };
  expectEmbeddings(all);
  return all;
}

const BOTH = [
  { object: "embedding", index: 0, embedding: AB },
  { object: "embedding", index: 1, embedding: CD },
];

test.each<[string, Json[]]>([
  ["an answer of the convention", [{ object: "list", model: "x", data: BOTH }]],
  ["its base64", [{ data: BOTH.map((one) => ({ ...one, embedding: base64Of(one.embedding) })) }]],
  ["one that leaves out what is plain", [{ data: [{ embedding: AB }, { embedding: CD }] }]],
  ["one that is out of order", [{ data: [...BOTH].reverse() }]],
  ["a list below embeddings", [{ embeddings: [AB, CD] }]],
  ["a list below data", [{ data: [AB, CD] }]],
  ["a list of vectors", [[AB, CD]]],
  ["a list of objects", [[{ embedding: AB }, { embedding: CD }]]],
  ["a vector at a time", [AB, CD]],
  ["an object at a time", [{ embedding: AB }, { embedding: CD }]],
  [
    "a batch at a time, each numbered from 0",
    [{ data: BOTH.slice(0, 1) }, { data: [{ index: 0, embedding: CD }] }],
  ],
])("the vectors of %s are returned as numbers and as base64", (_, outputs) => {
  const usage = { prompt_tokens: 0, total_tokens: 0 };
  const expected = { object: "list", data: BOTH, model: MODEL, usage };
  expect(floats(outputs)).toEqual(expected);
  expect(decoded(outputs)).toEqual(expected);
});

test.each<[string, Json[]]>([
  ["whole", [[0.5, -1.25]]],
  ["as its numbers", [0.5, -1.25]],
  ["below embedding", [{ embedding: AB }]],
  ["below data", [{ data: AB }]],
])("one vector is returned that the output has %s", (_, outputs) => {
  expect(floats(outputs).data).toEqual(BOTH.slice(0, 1));
});

test("the usage is the sum of the model's own, or else the prediction's", () => {
  const one = (usage: Json) => ({ data: [{ embedding: AB }], usage });
  const metrics = { input_tokens: 9, output_tokens: 0 };
  expect(floats([[AB]], metrics).usage).toEqual({ prompt_tokens: 9, total_tokens: 9 });
  expect(floats([one(null)], metrics).usage).toEqual({ prompt_tokens: 9, total_tokens: 9 });
  expect(floats([one({ prompt_tokens: 3 })], metrics).usage).toEqual({
    prompt_tokens: 3,
    total_tokens: 3,
  });
  const two = [one({ prompt_tokens: 3, total_tokens: 4 }), one({ prompt_tokens: 2 })];
  expect(floats(two, metrics).usage).toEqual({ prompt_tokens: 5, total_tokens: 6 });
});

test("unknown fields stay, and the names are ours", () => {
  const output = { id: "x", model: "served", data: [{ embedding: AB, truncated: true }] };
  expect(floats([output])).toMatchObject({ id: "x", model: MODEL, data: [{ truncated: true }] });
});

test.each<[Json[], RegExp]>([
  [[], /no embedding\. Expected:/],
  [[{ data: [] }], /no embedding/],
  [["a text"], /not embeddings\. Expected:/],
  [[{ data: "a text" }], /not embeddings/],
  [[null], /not embeddings/],
  [[{ choices: [] }], /something other than vectors/],
  [[["a"]], /something other than vectors/],
  [[[[]]], /something other than vectors/],
  [[[[1, "2"]]], /something other than vectors/],
  [[1, "2"], /not embeddings/],
  [[{ data: [{ embedding: [1, null] }] }], /neither a list of numbers nor base64/],
  [[{ data: [{ embedding: [] }] }], /neither a list of numbers nor base64/],
  [[{ data: [{ embedding: "§" }] }], /not base64/],
  [[{ data: [{ embedding: "" }] }], /0 bytes/],
  [[{ data: [{ embedding: btoa("12345") }] }], /5 bytes, which is not a multiple of 4 \(float32\)/],
  [[{ data: [{ embedding: base64Of([Number.NaN]) }] }], /a value that is not a number/],
  [
    [{ data: [{ embedding: base64Of([Number.POSITIVE_INFINITY]) }] }],
    /a value that is not a number/,
  ],
])("an output that is no embedding is refused with a message: %j", (outputs, message) => {
  for (const format of ["float", "base64"] as const) {
    expect(() => embeddingsOf(MODEL, outputs, format, { metrics: null })).toThrow(
      TranslationFailed,
    );
    expect(() => embeddingsOf(MODEL, outputs, format, { metrics: null })).toThrow(message);
  }
});

test("base64 holds each number as a float32, however many there are", () => {
  const vector = fc.array(
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e30, max: 1e30 }),
    { minLength: 1, maxLength: 20 },
  );
  fc.assert(
    fc.property(vector, fc.integer({ min: 1, max: 700 }), (some, times) => {
      const long = Array.from({ length: times }, () => some).flat();
      const { data } = embeddingsOf(MODEL, [long], "base64", { metrics: null });
      expect(floatsIn(data[0]?.embedding)).toEqual(long.map(Math.fround));
      const back = embeddingsOf(MODEL, [{ data: data }], "float", { metrics: null });
      expect(back.data[0]?.embedding).toEqual(long.map(Math.fround));
    }),
    { numRuns: 50 },
  );
});

test("embeddings have their cost in their usage, and not the container's", () => {
  const output = { embeddings: [[0.5]], usage: { prompt_tokens: 2, cost: 3 } };
  const cost = { amount: "0.5", currency: "USD", parts: [] };
  const { usage } = embeddingsOf(MODEL, [output], "float", { metrics: null, cost });
  expect(usage).toEqual({ prompt_tokens: 2, total_tokens: 2, cost: 0.5 });
});
