/** Form data as the JSON that its call takes. */
import { expect, test } from "vitest";
import { z } from "zod";
import { fieldName, formObject } from "../../../src/domain/openai/form-fields.ts";

const SCHEMA = z
  .object({
    prompt: z.string(),
    n: z.int().nullish(),
    stream: z.boolean().nullish(),
    image: z.union([z.string(), z.array(z.string())]),
    ratio: z.number().optional(),
    chunking: z.object({ type: z.string(), ms: z.int() }).optional(),
  })
  .catchall(z.json());

const fields = (...pairs: [string, string][]) => pairs.map(([name, value]) => ({ name, value }));

test("texts are read as the types that the schema takes", () => {
  const form = fields(
    ["prompt", "7"],
    ["n", "2"],
    ["stream", "True"],
    ["ratio", "0.5"],
    ["x", "3"],
  );
  expect(formObject(form, SCHEMA)).toEqual({ prompt: "7", n: 2, stream: true, ratio: 0.5, x: "3" });
  const wrong = fields(["n", "two"], ["stream", "1"], ["ratio", ""]);
  expect(formObject(wrong, SCHEMA)).toEqual({ n: "two", stream: "1", ratio: "" });
});

test("repeated names and brackets become lists, and inner names objects", () => {
  expect(formObject(fields(["image[]", "a"]), SCHEMA)).toEqual({ image: ["a"] });
  expect(formObject(fields(["image", "a"], ["image", "b"]), SCHEMA)).toEqual({ image: ["a", "b"] });
  expect(formObject(fields(["chunking[type]", "vad"], ["chunking[ms]", "5"]), SCHEMA)).toEqual({
    chunking: { type: "vad", ms: 5 },
  });
});

test("no field name reaches a prototype, and some names are refused", () => {
  const read = formObject(fields(["__proto__", "a"], ["a[__proto__]", "b"]), SCHEMA);
  expect(Object.keys(read)).toEqual(["__proto__", "a"]);
  expect({}).not.toHaveProperty("b");
  for (const name of ["", "[]", "a[b][c]", "a]", "x".repeat(201)])
    expect(fieldName(name), name).toBeUndefined();
});
