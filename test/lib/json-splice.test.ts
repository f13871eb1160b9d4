import fc from "fast-check";
import { expect, test } from "vitest";
import {
  arrayPieces,
  arrayText,
  joined,
  objectPieces,
  objectText,
  objectWriter,
} from "../../src/lib/json-splice.ts";

const json = fc.jsonValue({ maxDepth: 2 });
const names = fc.string({ minLength: 1 }).filter((name) => name !== "__proto__");

test("an object and an array equal those that their values would make", () => {
  fc.assert(
    fc.property(fc.dictionary(names, json), fc.dictionary(names, json), (members, further) => {
      for (const name of Object.keys(further)) delete members[name];
      const texts = Object.entries(further).map(([name, value]) => [name, JSON.stringify(value)]);
      const spliced = objectText(members, Object.fromEntries(texts));
      expect(JSON.parse(spliced)).toEqual(JSON.parse(JSON.stringify({ ...members, ...further })));
    }),
  );
  fc.assert(
    fc.property(fc.array(json), (values) => {
      const texts = values.map((value) => JSON.stringify(value));
      expect(arrayText(texts)).toBe(JSON.stringify(values));
      expect(joined(arrayPieces(texts))).toEqual([JSON.stringify(values)]);
    }),
  );
});

test("values are inserted verbatim in order, and names are escaped", () => {
  expect(objectText({ a: 1, b: undefined }, { 'c"': "[ 1.0 ]", d: "null" })).toBe(
    '{"a":1,"c\\"":[ 1.0 ],"d":null}',
  );
  expect(objectText({}, {})).toBe("{}");
});

test("a writer makes the same object for each value", () => {
  const write = objectWriter({ event: "output" }, 'da"ta');
  for (const value of ["1", '"two"', "[3]"])
    expect(write(value)).toBe(objectText({ event: "output" }, { 'da"ta': value }));
  expect(objectWriter({}, "a")("1")).toBe('{"a":1}');
});

test("references stay between the texts around them", () => {
  const [one, two] = [{ name: "one" }, { name: "two" }];
  expect(joined(arrayPieces(["1", one, two, "2"]))).toEqual(["[1,", one, ",", two, ",2]"]);
  const pieces = objectPieces({ a: 1 }, { b: [one], c: arrayPieces([two]) });
  expect(joined(pieces)).toEqual(['{"a":1,"b":', one, ',"c":[', two, "]}"]);
  expect([...arrayPieces([], "null")]).toEqual(["null"]);
});

test("a piece is made when it is read", () => {
  let made = 0;
  const values = function* () {
    for (; made < 5; made++) yield String(made);
  };
  const pieces = objectPieces({}, { list: arrayPieces(values()) });
  for (const text of ["{", '"list":', "[", "0"]) expect(pieces.next().value).toBe(text);
  expect(made).toBe(0);
});
