import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { exactText, numberIn, parseExact } from "../../src/lib/exact-json.ts";
import type { Json } from "../../src/lib/json.ts";
import { oneLineJson, textFrom } from "../../src/lib/json-text.ts";
import { awkwardJson, spaced } from "../support/awkward-json.ts";

test("JSON that is parsed and written again keeps its digits and the order of its names", () => {
  fc.assert(
    fc.property(awkwardJson, (text) => {
      expect(exactText(parseExact(text))).toBe(oneLineJson(text));
    }),
  );
});

test("a value can be put into another one, and into the text of a string", () => {
  fc.assert(
    fc.property(awkwardJson, (text) => {
      const value = parseExact(text);
      const json = oneLineJson(text);
      const moved = exactText({ input: value, arguments: JSON.stringify(value) });
      expect(moved.startsWith(`{"input":${json},"arguments":`)).toBe(true);
      const { arguments: inner } = z.object({ arguments: z.string() }).parse(JSON.parse(moved));
      expect(oneLineJson(inner)).toBe(json);
    }),
  );
});

test("a long run of backslashes beside an exact number is written at once", () => {
  const text = `{"a":"${"\\".repeat(1_000_000)}","b":1.0}`;
  expect(exactText(parseExact(text))).toBe(text);
});

test("a text that has a mark never makes other JSON of a value", () => {
  const mark = String(parseExact("1.0")).slice(0, -"1.0".length);
  const pieces = [mark, '"', "\\", "1", "0", "-", ".", "a", ",", "\n"].map((one) =>
    fc.constant(one),
  );
  const text = fc.array(fc.oneof(...pieces), { maxLength: 12 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, text, (one, other) => {
      const written = JSON.parse(exactText([one, JSON.stringify([other]), 0]));
      expect(written).toHaveLength(3);
      expect(written[2]).toBe(0);
    }),
  );
});

test("the number of a mark can be read", () => {
  expect(numberIn(parseExact("1.0"))).toBe(1);
  expect(numberIn(parseExact("-0.5"))).toBe(-0.5);
  expect(numberIn(parseExact('"1.0"'))).toBeUndefined();
});

test.each(["01.0", "1.0x", "[1.0 1.0]", "NaN", "-", "1.", ".5", '{"1":}'])(
  "the invalid JSON %s stays invalid",
  (text) => {
    expect(() => parseExact(text)).toThrow(SyntaxError);
  },
);

test("a value that was not changed keeps its text, with any spaces", () => {
  fc.assert(
    fc.property(awkwardJson, spaced, (text, space) => {
      const loose = space(text);
      const source = { value: JSON.parse(loose), text: oneLineJson(loose) };
      expect(source.text).toBe(oneLineJson(text));
      expect(textFrom(structuredClone(source.value), source)).toBe(source.text);
    }),
  );
});

test("changed values are written again, and all others keep their text", () => {
  fc.assert(
    fc.property(awkwardJson, awkwardJson, (kept, other) => {
      const [a, b] = [oneLineJson(kept), oneLineJson(other)];
      const text = `{"2":${a},"1":[${b},"file"],"model":"a","left":${a}}`;
      const value: { [name: string]: Json; 1: Json[] } = JSON.parse(text);
      const { left: _, ...rest } = value;
      const [second = null] = value[1];
      const changed = { ...rest, 1: ["before", second, "url"], model: "b", more: 1 };
      expect(textFrom(changed, { value, text })).toBe(
        `{"2":${a},"1":["before",${b},"url"],"model":"b","more":1}`,
      );
    }),
  );
});

test("different items of a list keep their text when others are removed and added", () => {
  // The index makes items different: of `0` and `0.00`, no reader of the values could tell which one is left.
  const written = (item: string, n: number) => `{"n":${n},"v":[${item}]}`;
  const flag = fc.constantFrom("keep", "remove", "add");
  fc.assert(
    fc.property(fc.array(fc.tuple(awkwardJson, flag), { maxLength: 8 }), (items) => {
      const text = oneLineJson(`[${items.map(([item], n) => written(item, n)).join(",")}]`);
      const value: Json[] = JSON.parse(text);
      const changed = value.flatMap((item, n) => {
        const how = items[n]?.[1];
        return how === "remove" ? [] : how === "add" ? [structuredClone(item), "new"] : [item];
      });
      const expected = items.flatMap(([item, how], n) => {
        const kept = oneLineJson(written(item, n));
        return how === "remove" ? [] : how === "add" ? [kept, '"new"'] : [kept];
      });
      fc.pre(changed.length !== value.length);
      expect(textFrom(changed, { value, text })).toBe(`[${expected.join(",")}]`);
    }),
  );
});

test("a list of 20,000 items of which all have changed is compared in linear time", () => {
  const like = { a: Array.from({ length: 20 }, (_, n) => n), b: 1.5 };
  const value = Array.from({ length: 20_000 }, () => like);
  const changed = value.slice(1).map(() => ({ a: like.a, b: 2.5 }));
  const text = JSON.stringify(value);
  expect(textFrom(changed, { value, text })).toBe(JSON.stringify(changed));
});
