// The example embedder as a real process: which texts are neighbours, and the forms of requests.

import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectEmbeddings, expectErrorBody } from "../../published/validate.ts";
import { type Example, examplesFolder, startExample } from "../support/example.ts";

const PATH = "/v1/embeddings";
const DIMENSIONS = 384;

interface Embeddings<Vector> {
  data: { index: number; embedding: Vector }[];
  usage: { prompt_tokens: number; total_tokens: number };
}

let meaning: Example;
beforeAll(async () => {
  meaning = await startExample(join(examplesFolder, "embeddings"));
});
afterAll(() => meaning.stop());

const send = <Body>(body: object) =>
  meaning.send<Body>("POST", PATH, { model: "embeddings", ...body });

async function embed(input: string | string[], more: object = {}): Promise<number[][]> {
  const { status, body } = await send<Embeddings<number[]>>({ input, ...more });
  expect(status).toBe(200);
  expectEmbeddings(body);
  expect(body.data.map(({ index }) => index)).toEqual(body.data.map((_, place) => place));
  return body.data.map(({ embedding }) => embedding);
}

const dot = (one: number[] = [], other: number[] = []) =>
  one.reduce((sum, part, index) => sum + part * (other[index] ?? Number.NaN), 0);

/** A text, a text that is near it, and one that is not. */
const neighbours: [kind: string, text: string, near: string, far: string][] = [
  ["a word of like meaning", "cat", "kitten", "train"],
  ["a word of like meaning", "king", "queen", "potato"],
  ["a word of like meaning", "doctor", "nurse", "guitar"],
  ["a word of like meaning", "physician", "doctor", "ship"],
  ["a word of like meaning", "happy", "glad", "lorry"],
  ["a word of like meaning", "aeroplane", "pilot", "milk"],
  ["an ending", "teachers", "teacher", "storm"],
  ["an ending", "photographing", "photographer", "elephant"],
  ["an ending", "swimming", "swims", "judge"],
  ["a typing error", "definately accomodate", "definitely accommodate", "dolphin restaurant"],
  ["a typing error", "The libary has many boks", "The library has many books", "A sailor at sea"],
  ["capitals and accents", "CAFÉ CRÈME", "cafe creme", "winter storm"],
  [
    "a paraphrase",
    "How do I fix a bug in my program?",
    "The software has an error in its code.",
    "The queen sits on her throne.",
  ],
  [
    "a paraphrase",
    "What will the weather be like tomorrow?",
    "It will rain and the wind will blow.",
    "The teacher writes on the blackboard.",
  ],
  [
    "a paraphrase",
    "I want to eat something, I am hungry.",
    "The cook makes dinner in the kitchen.",
    "The lawyer spoke before the judge.",
  ],
  ["a paraphrase", "She is sad and weeps.", "Tears of sorrow ran down.", "The car has an engine."],
  [
    "a paraphrase",
    "The team scored a goal.",
    "They won the football match.",
    "She borrowed a novel from the library.",
  ],
];

describe("neighbours", () => {
  it.each(neighbours)("a text is near its neighbour by %s: %s | %s", async (_, text, near, far) => {
    for (const dimensions of [DIMENSIONS, 128]) {
      const [one, other, unlike] = await embed([text, near, far], { dimensions });
      expect(dot(one, other)).toBeGreaterThan(dot(one, unlike) + 0.2);
    }
  });

  it("the neighbour of a question is found among many sentences", async () => {
    const sentences = neighbours.filter(([kind]) => kind === "a paraphrase");
    const pool = await embed(sentences.flatMap(([, , near, far]) => [near, far]));
    const asked = await embed(sentences.map(([, text]) => text));
    for (const [place, vector] of asked.entries()) {
      const alike = pool.map((other) => dot(vector, other));
      expect(alike.indexOf(Math.max(...alike))).toBe(2 * place);
    }
  });
});

describe("vectors", () => {
  it("vectors have the length 1, and are always the same", async () => {
    const texts = ["The cat sat.", "the", "?!", " ", "猫", "x".repeat(100_000)];
    const [vectors, again] = [await embed(texts), await embed(texts)];
    expect(again).toEqual(vectors);
    for (const [index, vector] of vectors.entries()) {
      expect(vector).toHaveLength(DIMENSIONS);
      expect(dot(vector, vector)).toBeCloseTo(1, 5);
      expect(await embed(texts[index] ?? "")).toEqual([vector]);
    }
  });

  it("vectors can be short: the beginning of the long ones, of length 1 again", async () => {
    const [[long], [short]] = [await embed("The cat"), await embed("The cat", { dimensions: 64 })];
    expect(short).toHaveLength(64);
    expect(dot(short, short)).toBeCloseTo(1, 5);
    const scale = (short?.[0] ?? 0) / (long?.[0] ?? 0);
    for (const [index, part] of short?.entries() ?? []) {
      expect(part).toBeCloseTo(scale * (long?.[index] ?? 0), 5);
    }
  });

  it("vectors come as base64 of float32 when requested", async () => {
    const input = ["a cat", "a king"];
    const floats = await embed(input);
    const { body } = await send<Embeddings<string>>({ input, encoding_format: "base64" });
    for (const [index, { embedding }] of body.data.entries()) {
      const bytes = Buffer.from(embedding, "base64");
      const parts = Array.from({ length: DIMENSIONS }, (_, part) => bytes.readFloatLE(4 * part));
      expect(bytes).toHaveLength(4 * DIMENSIONS);
      expect(parts.map((part) => Number(part.toPrecision(7)))).toEqual(floats[index]);
    }
  });

  it("vectors come with a count of words", async () => {
    const { body } = await send<Embeddings<number[]>>({ input: ["two words", "and three more"] });
    expect(body.usage).toEqual({ prompt_tokens: 5, total_tokens: 5 });
  });

  it("vectors come for many requests at once", async () => {
    const texts = Array.from({ length: 10 }, (_, index) => `sentence ${index} about a dog`);
    const alone = await embed(texts);
    const together = await Promise.all(Array.from({ length: 32 }, () => embed(texts)));
    for (const vectors of together) expect(vectors).toEqual(alone);
  });
});

it("the embedder refuses wrong requests with the errors of OpenAI's API", async () => {
  for (const [body, param, code] of [
    [{}, "input", "missing_required_parameter"],
    [{ input: [] }, "input", "empty_array"],
    [{ input: "" }, "input", "string_below_min_length"],
    [{ input: [1, 2] }, "input", "invalid_type"],
    [{ input: [[1, 2], [3]] }, "input", "invalid_type"],
    [{ input: ["a", 1] }, "input[1]", "invalid_type"],
    [{ input: Array(2049).fill("a") }, "input", "array_above_max_length"],
    [{ input: "a", dimensions: 385 }, "dimensions", "integer_above_max_value"],
    [{ input: "a", dimensions: 0 }, "dimensions", "integer_below_min_value"],
    [{ input: "a", encoding_format: "hex" }, "encoding_format", "invalid_value"],
  ] as const) {
    const answer = await send(body);
    expectErrorBody(answer.body);
    expect(answer).toMatchObject({ status: 400, body: { error: { param, code } } });
  }
  expect((await send({ model: "other", input: "a" })).status).toBe(404);
  expect((await meaning.send("POST", "/v1/chat/completions", {})).status).toBe(404);
});
