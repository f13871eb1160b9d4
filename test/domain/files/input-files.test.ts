/** The places of files in an input: found by the schema, or by how a string looks. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type FoundString,
  findStrings,
  findUriStrings,
  type JsonPath,
} from "../../../src/domain/files/input-files.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { ANY, LIKE, nested, object, placesOf, URI, URL } from "./nested-inputs.ts";

/** Returns the value at a place of the input. */
function at(input: Json, place: JsonPath): Json | undefined {
  let value: Json | undefined = input;
  for (const name of place) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Array.isArray(value) ? value[Number(name)] : value[String(name)];
  }
  return value;
}

describe("what the schema calls a uri", () => {
  test.each<[string, Json, Json, JsonPath[]]>([
    ["a property", object({ image: URI }), { image: URL, text: URL }, [["image"]]],
    ["several", object({ a: URI, b: URI }), { a: URL, b: URL }, [["a"], ["b"]]],
    [
      "items of a list",
      object({ images: { type: "array", items: URI } }),
      { images: [URL, URL] },
      [
        ["images", 0],
        ["images", 1],
      ],
    ],
    [
      "prefixItems, then items",
      object({ a: { prefixItems: [{ type: "string" }], items: URI } }),
      { a: [URL, URL] },
      [["a", 1]],
    ],
    [
      "$ref",
      { $defs: { file: URI }, ...(object({ a: { $ref: "#/$defs/file" } }) as object) },
      { a: URL },
      [["a"]],
    ],
    [
      "$ref by a name with / and ~",
      { $defs: { "x/y~z": URI }, ...(object({ a: { $ref: "#/$defs/x~1y~0z" } }) as object) },
      { a: URL },
      [["a"]],
    ],
    [
      "$ref beside other keywords",
      {
        $defs: { file: URI },
        ...(object({ a: { allOf: [{ $ref: "#/$defs/file" }], title: "A" } }) as object),
      },
      { a: URL },
      [["a"]],
    ],
    ["anyOf with null", object({ a: { anyOf: [URI, { type: "null" }] } }), { a: URL }, [["a"]]],
    ["oneOf", object({ a: { oneOf: [{ type: "integer" }, URI] } }), { a: URL }, [["a"]]],
    [
      "several branches, once",
      object({ a: { anyOf: [URI, URI], allOf: [URI] } }),
      { a: URL },
      [["a"]],
    ],
    ["additionalProperties", { additionalProperties: URI }, { x: URL, y: URL }, [["x"], ["y"]]],
    [
      "additionalProperties, but not what has its own",
      { properties: { x: { type: "string" } }, additionalProperties: URI },
      { x: URL, y: URL },
      [["y"]],
    ],
    [
      "objects in lists in objects",
      object({ pages: { type: "array", items: object({ picture: URI }) } }),
      { pages: [{ picture: URL }, { text: URL }, { picture: URL }] },
      [
        ["pages", 0, "picture"],
        ["pages", 2, "picture"],
      ],
    ],
    [
      "a tree that refers to itself",
      {
        $defs: {
          node: object({ file: URI, children: { type: "array", items: { $ref: "#/$defs/node" } } }),
        },
        $ref: "#/$defs/node",
      },
      { file: URL, children: [{ file: URL, children: [] }] },
      [["file"], ["children", 0, "file"]],
    ],
    ["not a number, null, a list or an object", object({ a: URI }), { a: [1, null, {}] }, []],
    ["not another format", object({ a: { format: "uri-reference" } }), { a: URL }, []],
    ["not what is not there", object({ a: URI }), {}, []],
    ["not in a schema of true", true, { a: URL }, []],
    [
      "not by a reference into another document",
      object({ a: { $ref: "x.json#/a" } }),
      { a: URL },
      [],
    ],
    ["not by a reference to nothing", object({ a: { $ref: "#/$defs/none" } }), { a: URL }, []],
    [
      "not by names of Object.prototype",
      object({ a: URI }),
      { constructor: URL, toString: URL },
      [],
    ],
    [
      "a property called __proto__",
      JSON.parse('{"properties":{"__proto__":{"format":"uri"}}}'),
      JSON.parse(`{"__proto__":"${URL}"}`),
      [["__proto__"]],
    ],
  ])("files are found by the schema: %s", (_, schema, input, places) => {
    expect(placesOf(findUriStrings(schema, input, ANY))).toEqual(places);
  });

  test("a search finds only the strings that are wanted", () => {
    const input = { a: URL, b: "data:text/plain,x" };
    const wanted = { like: (text: string) => text.startsWith("https:"), most: 10 };
    expect(findUriStrings({ additionalProperties: URI }, input, wanted)).toEqual([
      { at: ["a"], text: URL },
    ]);
  });

  test("a search finds one address more than is allowed and stops there", () => {
    const schema = { additionalProperties: { items: URI } };
    const input = { a: Array<string>(1_000).fill(URL) };
    expect(findUriStrings(schema, input, { ...ANY, most: 90 })).toHaveLength(91);
  });
});

/** Each search is quick, or refused within a second; an unbounded one takes minutes. */

describe("what a string looks like", () => {
  test("a string that looks like a file is found anywhere in the input", () => {
    const input = {
      a: "/v1/1",
      b: [{ c: "/v1/2" }, "no", 3, null, [["/v1/3"]]],
      d: { e: { f: "/v1/4" } },
    };
    const found = findStrings(LIKE, input).sort((one, two) => one.text.localeCompare(two.text));
    expect(found).toEqual([
      { at: ["a"], text: "/v1/1" },
      { at: ["b", 0, "c"], text: "/v1/2" },
      { at: ["b", 4, 0, 0], text: "/v1/3" },
      { at: ["d", "e", "f"], text: "/v1/4" },
    ]);
  });

  test("names of properties are not found as values, and digits are names where they are names", () => {
    expect(findStrings(LIKE, { "/v1/x": 1, "0": "/v1/y" })).toEqual([{ at: ["0"], text: "/v1/y" }]);
  });

  test("a string is found at the greatest depth that is allowed", () => {
    const input = nested(1_000, (inner) => [inner === URL ? "/v1/deep" : inner]);
    expect(findStrings(LIKE, input)).toEqual([{ at: Array(1_000).fill(0), text: "/v1/deep" }]);
  });
});

const { tree: inputs } = fc.letrec<{ tree: Json }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom<Json>("/v1/a", "/v1/b", "c", 1, null),
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.dictionary(fc.string({ maxLength: 5 }), tie("tree"), { maxKeys: 4 }),
  ),
}));

test("every found place leads to its text, and no place is left out", () => {
  const everywhere: Json = {
    anyOf: [{ format: "uri" }],
    items: { $ref: "#" },
    additionalProperties: { $ref: "#" },
  };
  const all = { ...LIKE, most: 10_000 };
  fc.assert(
    fc.property(inputs, (input) => {
      const found = findStrings(all, input);
      for (const one of found) expect(at(input, one.at)).toBe(one.text);
      const texts = JSON.stringify(input).match(/[[:,]"\/v1\/[ab]"(?!:)|^"\/v1\/[ab]"/g) ?? [];
      expect(found).toHaveLength(texts.length);
      const order = ({ at: place }: FoundString) => JSON.stringify(place);
      const sorted = (some: FoundString[]) => some.map(order).sort();
      expect(sorted(findUriStrings(everywhere, input, all))).toEqual(sorted(found));
    }),
    { numRuns: 500 },
  );
});
