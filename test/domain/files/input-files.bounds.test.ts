/** Searches for files in hostile inputs: `findStrings` and `findUriStrings` give up early. */
import { describe, expect, test } from "vitest";
import { findStrings, findUriStrings } from "../../../src/domain/files/input-files.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { ANY, LIKE, nested, object, placesOf, URI, URL } from "./nested-inputs.ts";

describe("what is hostile", () => {
  const branches = (name: string, inner: Json): Json => ({ [name]: Array<Json>(3).fill(inner) });
  test.each<[string, Json, Json]>([
    ["a reference to itself", { $ref: "#" }, { a: URL }],
    [
      "two references to each other",
      { $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" },
      { a: URL },
    ],
    [
      "branches of branches",
      nested(20, (inner) => branches("anyOf", inner === URL ? URI : inner)),
      URL,
    ],
    ["two references to itself", { anyOf: [{ $ref: "#" }, { $ref: "#" }] }, URL],
    [
      "a hundred thousand deep, and a schema that follows",
      { additionalProperties: { $ref: "#" }, items: { $ref: "#" } },
      { a: nested(100_000, (inner) => [inner]) },
    ],
    [
      "a hundred thousand items, each in ten branches",
      { additionalProperties: { items: { anyOf: Array<Json>(10).fill(URI) } } },
      { a: Array<string>(100_000).fill(URL) },
    ],
    [
      "files below a name of a million characters",
      { additionalProperties: { additionalProperties: URI } },
      {
        ["k".repeat(1_000_000)]: Object.fromEntries(
          Array.from({ length: 1_000 }, (_, n) => [n, URL]),
        ),
      },
    ],
  ])("a hostile search is given up early: %s", (_, schema, input) => {
    expect(() => findUriStrings(schema, input, { ...ANY, most: 1_000_000 })).toThrow(RangeError);
  });

  test("a depth that the schema does not follow costs nothing", () => {
    const input = { a: nested(100_000, (inner) => [inner]), b: URL };
    expect(placesOf(findUriStrings(object({ b: URI }), input, ANY))).toEqual([["b"]]);
  });

  test("a search goes a hundred thousand levels deep with an address at each", () => {
    const path = "/v1/uploads/x";
    const input = nested(100_000, (inner) => [path, inner]);
    expect(findStrings({ ...LIKE, most: 90 }, [path, path])).toHaveLength(2);
    expect(() => findStrings({ ...LIKE, most: 90 }, input)).toThrow(RangeError);
  });

  test("a search stops after the allowed number of addresses", () => {
    const input = Array<string>(500_000).fill("/v1/files/a/b");
    expect(findStrings({ ...LIKE, most: 90 }, input)).toHaveLength(91);
  });
});
