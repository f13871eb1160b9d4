/** Vectors as CSV, from the JSON text of an output in pieces. */
import { describe, expect, test } from "vitest";
import {
  beginningOf,
  csvOf,
  dimensionOf,
  tableOf,
} from "../../../src/domain/predictions/output-table.ts";
import { VectorLines } from "../../../src/domain/predictions/vector-lines.ts";
import type { Json } from "../../../src/protocol/common.ts";

const VECTORS = [
  [1, -0.5],
  [2e-7, 3],
];
const EMBEDDINGS = {
  object: 'a "[list]" \\',
  shape: [2, 2, 1],
  data: VECTORS.map((embedding, index) => ({ index, embedding, text: "[1, 2]" })),
  usage: { counts: [] },
};

describe.each<[string, Json]>([
  ["lists", VECTORS],
  ["a list of lists", [VECTORS]],
  ["an answer of OpenAI's", EMBEDDINGS],
  ["a list of one", [EMBEDDINGS]],
])("of %s", (_, output) => {
  test.each([1, 2, 3, 7, 1_000])("in pieces of %d, they are those of the whole table", (size) => {
    const lines = new VectorLines(2);
    const json = JSON.stringify(output, null, 1);
    let csv = "";
    for (let at = 0; at < json.length; at += size) csv += lines.add(json.slice(at, at + size));
    expect(csv).toBe(csvOf(tableOf(output) ?? []));
  });

  test("their dimension is known by the beginning", () => {
    expect(dimensionOf(beginningOf(JSON.stringify(output)) ?? null)).toBe(2);
  });
});

test.each<[string, Json]>([
  ["records", [{ a: 1 }, { a: 2 }]],
  ["rows of words", [["a"], ["b"]]],
  ["rows of other lengths", [[1], [2, 3]]],
  ["no table", { a: { b: 1 } }],
])("%s have no dimension", (_, output) => {
  expect(dimensionOf(output)).toBeUndefined();
});
