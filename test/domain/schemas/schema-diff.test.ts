import { describe, expect, test } from "vitest";
import { schemaChanges } from "../../../src/domain/schemas/schema-diff.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { processorMs } from "../../support/processor-time.ts";

const object = (properties: Record<string, Json>, required: string[] = []): Json => ({
  type: "object",
  properties,
  required,
});

const text = { type: "string" };

describe("a schema's fields", () => {
  test("fields are the same when only words and their order have changed", () => {
    const before = object({ a: { ...text, description: "one", "x-order": 1 }, b: text });
    const after = object({ b: { ...text, title: "B" }, a: { ...text, "x-order": 0 } });
    expect(schemaChanges(before, after)).toEqual([]);
  });

  test("an added or removed field is listed with all its facts", () => {
    expect(
      schemaChanges(
        object({ old: text }),
        object({ size: { type: "integer", default: 2 } }, ["size"]),
      ),
    ).toEqual([
      {
        name: "size",
        change: "added",
        differences: [
          { fact: "type", before: undefined, after: "integer" },
          { fact: "required", before: undefined, after: true },
          { fact: "default", before: undefined, after: 2 },
        ],
      },
      {
        name: "old",
        change: "removed",
        differences: [{ fact: "type", before: "text", after: undefined }],
      },
    ]);
  });

  test.each<[string, Json, Json, string, Json | undefined, Json | undefined]>([
    ["type", text, { type: "integer" }, "type", "text", "integer"],
    [
      "type of items",
      list(text),
      list({ type: "number" }),
      "type",
      "list of text",
      "list of number",
    ],
    ["format", text, { ...text, format: "uri" }, "type", "text", "file"],
    ["default", { ...text, default: "" }, { ...text, default: "a" }, "default", "", "a"],
    ["default that goes", { default: null }, {}, "default", null, undefined],
    ["bound", { minimum: 0 }, { minimum: 1 }, "minimum", 0, 1],
    ["bound that comes", {}, { maximum: 9 }, "maximum", undefined, 9],
    ["choices", { enum: ["a"] }, { enum: ["a", "b"] }, "options", ["a"], ["a", "b"]],
  ])("a field changes: %s", (_, before, after, fact, from, to) => {
    const [change, ...others] = schemaChanges(object({ one: before }), object({ one: after }));
    expect(others).toEqual([]);
    expect(change).toMatchObject({ name: "one", change: "changed" });
    expect(change?.differences).toContainEqual({ fact, before: from, after: to });
  });

  test("a field can become required or optional", () => {
    const [loose, strict] = [object({ one: text }), object({ one: text }, ["one"])];
    expect(schemaChanges(loose, strict)).toEqual([
      {
        name: "one",
        change: "changed",
        differences: [{ fact: "required", before: undefined, after: true }],
      },
    ]);
    expect(schemaChanges(strict, loose)[0]?.differences).toEqual([
      { fact: "required", before: true, after: undefined },
    ]);
  });

  test("changes are found inside objects and lists of objects", () => {
    const nested = (width: Json) =>
      object({ crop: object({ width }), words: list(object({ at: width })) });
    const changes = schemaChanges(nested(text), nested({ type: "integer" }));
    expect(changes.map(({ name }) => name)).toEqual(["crop.width", "words[].at"]);
  });

  test("fields are the same behind a reference with another name", () => {
    const named = (name: string): Json => ({
      properties: { size: { allOf: [{ $ref: `#/components/schemas/${name}` }] } },
      components: { schemas: { [name]: { type: "string", enum: ["small"] } } },
    });
    expect(schemaChanges(named("size"), named("Size"))).toEqual([]);
  });

  test("a field may have any name", () => {
    const odd = (part: Json) =>
      JSON.parse(`{"properties": {"__proto__": ${JSON.stringify(part)}}}`);
    expect(schemaChanges(odd(text), odd({}))).toMatchObject([{ name: "__proto__" }]);
  });
});

test("an output changes as a whole", () => {
  expect(schemaChanges(text, list({ ...text, format: "uri" }))).toEqual([
    {
      name: "",
      change: "changed",
      differences: [{ fact: "type", before: "text", after: "list of file" }],
    },
  ]);
});

test("a comparison of schemas that refer to themselves, or are no schemas, ends", () => {
  const tree: Json = { type: "object", properties: { child: { $ref: "#" }, other: { $ref: "#" } } };
  expect(schemaChanges(tree, tree)).toEqual([]);
  expect(schemaChanges(tree, {}).length).toBeLessThan(50);
  expect(schemaChanges(null, ["odd"])).toEqual([]);
});

test("lists in lists are compared quickly, however deep they are and however often each is referred to", () => {
  const lists = (depth: number): Json =>
    depth === 0 ? text : { type: ["array", "array", "null"], items: lists(depth - 1) };
  const started = processorMs();
  expect(schemaChanges({}, lists(2))[0]?.differences[0]?.after).toBe("list of list of text");
  expect(schemaChanges({}, lists(100)).length).toBe(1);
  expect(schemaChanges({}, { type: "array", items: { $ref: "#" } }).length).toBe(1);
  expect(processorMs() - started).toBeLessThan(500);
});

test("a wide schema is compared up to a limit", () => {
  const wide = object(Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`n${n}`, text])));
  expect(schemaChanges({}, wide).filter(({ change }) => change === "added")).toHaveLength(499);
});

function list(items: Json): Json {
  return { type: "array", items };
}
