/** Inputs on a command line: text (converted by the schema), JSON and files. */
import { expect, test } from "vitest";
import { Misuse } from "../../../src/cli/failure.ts";
import { buildInput, readPair } from "../../../src/cli/run/input.ts";
import type { Schemas } from "../../../src/protocol/model.ts";

const schemas = (properties: Record<string, object>, more = {}): Schemas => ({
  prediction: {
    input: JSON.parse(JSON.stringify({ type: "object", properties, ...more })),
    output: {},
    stream_output: false,
  },
});

const MODEL = schemas({
  prompt: { type: "string" },
  image: { type: "string", format: "uri" },
  count: { type: "integer" },
  scale: { type: "number", minimum: 0, maximum: 1 },
  fast: { type: "boolean", default: false },
  size: { enum: ["small", "1"] },
  tags: { type: "array", items: { type: "string" } },
  messages: { type: "array", items: { type: "object" } },
  options: { type: "object" },
});

const inputOf = (args: string[], of: Schemas | undefined = MODEL, base = {}) =>
  buildInput({
    base,
    pairs: args.map(readPair),
    schemas: of,
    upload: async (path) => `https://auspex.test/uploads${path}`,
  });

test("text becomes a value of the schema's type", async () => {
  const given = ["prompt=a = b", "count=3", "scale=0.5", "fast=true", "size=1"];
  const more = ["tags=one", "tags=two", "messages=Hello", 'options={"a": [1]}', "image=@/a.png"];
  expect(await inputOf([...given, ...more])).toEqual({
    prompt: "a = b",
    count: 3,
    scale: 0.5,
    fast: true,
    size: "1",
    tags: ["one", "two"],
    messages: [{ role: "user", content: "Hello" }],
    options: { a: [1] },
    image: "https://auspex.test/uploads/a.png",
  });
});

test("JSON is taken unchanged, also with a leading @ or with line breaks, and one item becomes a list", async () => {
  const given = ['prompt:="@not a file"', "tags=one", "count:=null"];
  expect(await inputOf(given)).toEqual({ prompt: "@not a file", tags: ["one"], count: null });
  expect(await inputOf(["prompt=two\nlines"])).toEqual({ prompt: "two\nlines" });
});

test("text stays text for a model with unknown inputs, and repeated names become a list", async () => {
  expect(await inputOf(["a=1", "b=x", "b=y", "c:=1"], undefined)).toEqual({
    a: "1",
    b: ["x", "y"],
    c: 1,
  });
});

test("pairs change a whole input", async () => {
  expect(await inputOf(["count=2"], MODEL, { count: 1, prompt: "a" })).toEqual({
    count: 2,
    prompt: "a",
  });
});

test("an error about a wrong input has its name and a valid value", async () => {
  const closed = schemas({ prompt: { type: "string" } }, { additionalProperties: false });
  const faults: [string[], RegExp, Schemas?][] = [
    [["count=many"], /^count: /],
    [["fast=yes"], /^fast: true or false is needed, not “yes”/],
    [["size=big"], /^size: one of "small", "1" is needed/],
    [["prompt=a", "prompt=b"], /^prompt is given twice/],
    [["options={"], /^options: /],
    [["prompt:={"], /^prompt: this is not JSON/],
    [
      ["promt=a"],
      /^The model has no input “promt”: did you mean prompt\? It has: prompt\.$/,
      closed,
    ],
  ];
  for (const [args, message, of] of faults) {
    await expect(inputOf(args, of), args.join(" ")).rejects.toThrow(message);
    await expect(inputOf(args, of)).rejects.toThrow(Misuse);
  }
  expect(() => readPair("=a")).toThrow(/write key=value/);
});
