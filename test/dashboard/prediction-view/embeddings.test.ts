/** Embeddings in outputs, and the distances between them. */
import { expect, test } from "vitest";
import {
  cosineDistance,
  countText,
  embeddingsIn,
  namesOf,
  norm,
} from "../../../src/dashboard/prediction-view/embeddings.ts";

const row = (length: number, value = 0.5) => Array<number>(length).fill(value);

test("rows of numbers are embeddings when they are long and of equal length", () => {
  expect(embeddingsIn([row(8), row(8)])).toEqual([row(8), row(8)]);
  expect(embeddingsIn(row(64))).toEqual([row(64)]);
  for (const other of [
    [row(4), row(4)],
    [row(8), row(9)],
    [[...row(8), "x"], row(9)],
    row(63),
    [],
    [[]],
    "text",
    null,
  ])
    expect(embeddingsIn(other)).toBeUndefined();
});

test("an answer of OpenAI's API is read as embeddings, also in base64", () => {
  const answer = (...embeddings: (number[] | string)[]) => ({
    object: "list",
    data: embeddings.map((embedding, index) => ({ object: "embedding", index, embedding })),
  });
  expect(embeddingsIn(answer([1, 0], [0, 1]))).toEqual([
    [1, 0],
    [0, 1],
  ]);
  expect(embeddingsIn(answer([1, 0]).data)).toEqual([[1, 0]]);
  expect(embeddingsIn({ embedding: [1, 2, 3] })).toEqual([[1, 2, 3]]);
  const base64 = Buffer.from(new Float32Array([0.5, -1]).buffer).toString("base64");
  expect(embeddingsIn(answer(base64))).toEqual([[0.5, -1]]);
  expect(embeddingsIn(answer("no base64"))).toBeUndefined();
  expect(embeddingsIn(answer("AAA="))).toBeUndefined();
  expect(embeddingsIn({ data: [] })).toBeUndefined();
  expect(embeddingsIn({ data: [{ id: 1 }] })).toBeUndefined();
});

test("vectors are named by the texts of the input, where there are as many", () => {
  const vectors = [row(8), row(8)];
  const input = { model: "m", tags: ["one"], sizes: [1, 2], input: ["A\n cat", "d".repeat(99)] };
  expect(namesOf(vectors, input)).toEqual(["A cat", `${"d".repeat(59)}…`]);
  expect(namesOf([row(8)], { input: "A cat" })).toBeUndefined();
  expect(namesOf(vectors, undefined)).toBeUndefined();
});

test("the distance is 0 for the same direction, 1 for a right angle, 2 for the opposite", () => {
  expect(cosineDistance([1, 2], [2, 4])).toBeCloseTo(0, 12);
  expect(cosineDistance([1, 0], [0, 5])).toBe(1);
  expect(cosineDistance([1, 1], [-3, -3])).toBeCloseTo(2, 12);
  expect(cosineDistance([0, 0], [1, 1])).toBeUndefined();
  expect(cosineDistance([1e200, 0], [1e200, 0])).toBeUndefined();
  expect(norm([3, 4])).toBe(5);
  expect(countText([[1, 2]])).toBe("1 embedding, 2 dimensions");
  expect(countText([row(3), row(3)])).toBe("2 embeddings, 3 dimensions");
});
