/** The output of a prediction as text and as a table, from its JSON in any pieces. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JsonMember } from "../../../src/domain/predictions/json-member.ts";
import { csvOf, tableOf } from "../../../src/domain/predictions/output-table.ts";
import { OutputText } from "../../../src/domain/predictions/output-text.ts";
import type { Json } from "../../../src/protocol/common.ts";

const pieces = (json: string, size: number) =>
  json.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];

function memberOf(json: string, size = 7): string {
  const member = new JsonMember("output");
  return pieces(json, size)
    .map((piece) => member.add(piece))
    .join("");
}

function textOf(output: Json, { between = "", size = 3 } = {}): string {
  const text = new OutputText(between);
  const told = pieces(JSON.stringify(output), size).map((piece) => text.add(piece));
  return told.join("") + text.end();
}

test("one member is picked out, whatever others and their values are called", () => {
  const input = { output: 1, "a\\": ['"output":2', { output: [3] }], '"': "}" };
  for (const output of [null, 'a,]}"\\', [1, { output: 2 }], { a: [] }, 7] as Json[])
    for (const size of [1, 2, 1_000])
      expect(memberOf(JSON.stringify({ id: "output", input, output, z: 1 }), size)).toBe(
        JSON.stringify(output),
      );
  expect(memberOf("{}")).toBe("");
});

test("any text stays what it is, whatever pieces it comes in", () => {
  const marks = ['"', "\\", "u", "\n", "é", "\ud83d", "\ude00", ",", "]", "["];
  const any = fc.array(fc.constantFrom(...marks), { maxLength: 8 }).map((all) => all.join(""));
  const strings = fc.array(any, { maxLength: 5 });
  fc.assert(
    fc.property(strings, fc.integer({ min: 1, max: 9 }), (all, size) => {
      expect(textOf(all, { size })).toBe(all.join(""));
      expect(textOf(all, { size, between: "\n" })).toBe(all.join("\n"));
      expect(textOf(all[0] ?? "", { size })).toBe(all[0] ?? "");
    }),
  );
});

test("what is no string is its message, or readable JSON", () => {
  const delta = (content: string) => ({ choices: [{ delta: { content } }] });
  expect(textOf([delta("Off with "), delta('"her" head')])).toBe('Off with "her" head');
  expect(textOf({ a: 1 })).toBe('{\n  "a": 1\n}\n');
  expect(textOf(null)).toBe("");
  expect(textOf([])).toBe("");
  expect(textOf(["a", 1, "b"])).toBe("a1\nb");
  expect(textOf(0.5)).toBe("0.5\n");
});

const manyRecords = (count: number) => Array.from({ length: count }, (_, n) => ({ [`f${n}`]: n }));

describe("a table", () => {
  const csv = (output: Json) => {
    const rows = tableOf(output);
    return rows && csvOf(rows);
  };

  test.each<[string, Json, string | undefined]>([
    [
      "of records",
      [
        { a: 1, b: "x" },
        { a: null, c: true },
      ],
      "a,b,c\r\n1,x,\r\n,,true\r\n",
    ],
    [
      "of vectors",
      [
        [1, 0.5],
        [-2, 3],
      ],
      "1,0.5\r\n-2,3\r\n",
    ],
    [
      "in a list of one",
      [
        [
          [1, 2],
          [3, 4],
        ],
      ],
      "1,2\r\n3,4\r\n",
    ],
    ["of embeddings", { data: [{ index: 0, embedding: [1, 2] }] }, "1,2\r\n"],
    ["of one record", { a: 1, b: "x" }, "a,b\r\n1,x\r\n"],
    ["of numbers", [1, 2], "1\r\n2\r\n"],
    ["with quotes", [{ a: 'say "a, b"\n' }], 'a\r\n"say ""a, b""\n"\r\n'],
    ["that a spreadsheet would run", [{ a: "=1+1" }, { a: "-x" }], "a\r\n'=1+1\r\n'-x\r\n"],
    ["none: text", ["a", "b"], undefined],
    ["none: nested", [{ a: { b: 1 } }], undefined],
    ["none: nothing", [], undefined],
    ["none: a value", 7, undefined],
    ["none: records without a field in common", manyRecords(1_000), undefined],
    ["none: lists in lists", JSON.parse("[".repeat(100_000) + "]".repeat(100_000)), undefined],
    ["none: no vectors", { data: [{ text: "x" }] }, undefined],
  ])("%s", (_, output, expected) => {
    expect(csv(output)).toBe(expected);
  });
});
