/**
 * Random JSON text with parts that a parser would change: digits, the order of names, and line separators.
 */
import * as fc from "fast-check";

const number = fc.oneof(
  fc.constantFrom("1.0", "-0", "0.10", "1e5", "1E-7", "18446744073709551615", "9007199254740993"),
  fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => JSON.stringify(one)),
  fc
    .tuple(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.integer({ min: 0, max: 9_999 }))
    .map(([whole, part]) => `${whole}.${part}0`),
);

const string = fc
  .oneof(
    fc.string({ unit: "binary", maxLength: 12 }),
    fc.constantFrom("a\u0085b\u2028c\u2029", '"1.0": 1.0, \\', "1.0", "{[ \n", "\\u2028"),
  )
  .map((one) => JSON.stringify(one));

const name = fc.oneof(
  fc.constantFrom('"10"', '"9"', '"__proto__"', '"constructor"', '"a b"'),
  string,
);

const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(number, string, fc.constantFrom("true", "false", "null")),
    fc.array(tie("value"), { maxLength: 5 }).map((items) => `[${items.join(",")}]`),
    fc
      .uniqueArray(fc.tuple(name, tie("value")), {
        maxLength: 5,
        selector: ([one]) => JSON.parse(one),
      })
      .map((members) => `{${members.map(([one, part]) => `${one}:${part}`).join(",")}}`),
  ),
}));

export const awkwardJson: fc.Arbitrary<string> = value;

const PARTS = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/gs;

/** Returns functions that put spaces and line breaks between the parts of JSON. */
export const spaced: fc.Arbitrary<(text: string) => string> = fc
  .constantFrom("", " ", "\n", "\r\n\t ")
  .map((space) => (text) => (text.match(PARTS) ?? []).map((part) => part + space).join(""));
