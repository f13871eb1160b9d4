import { expect, test } from "vitest";
import { areUtf8Parts, Utf8Check } from "../../src/lib/utf8-check.ts";

const TEXT = "a\u00e9\u20ac\u{1f600}\ufeffz";
const bytes = new TextEncoder().encode(TEXT);

const edgesOf = (...pieces: Uint8Array[]) => {
  const check = new Utf8Check();
  for (const piece of pieces) check.add(piece);
  return check.edges;
};

test("UTF-8 is recognised, wherever its parts and their pieces are cut", () => {
  for (let one = 0; one <= bytes.length; one++) {
    for (let two = one; two <= bytes.length; two++) {
      const [a, b, c] = [bytes.slice(0, one), bytes.slice(one, two), bytes.slice(two)];
      expect(areUtf8Parts([edgesOf(a, b, c)])).toBe(true);
      expect(areUtf8Parts([edgesOf(a, b), edgesOf(c)])).toBe(true);
      expect(areUtf8Parts([edgesOf(a), edgesOf(b), edgesOf(c)])).toBe(true);
    }
  }
});

test.each([
  ["Latin-1", [0x63, 0x61, 0x66, 0xe9]],
  ["Latin-1 inside", [0x66, 0xea, 0x74, 0x65]],
  ["a character without its end", [0x61, 0xe2, 0x82]],
  ["a character without its beginning", [0xac, 0x61]],
  ["an overlong character", [0xc0, 0x80]],
  ["half of a pair", [0xed, 0xa0, 0x80]],
  ["bytes that never occur", [0xff, 0xfe]],
  ["four bytes that continue", [0x80, 0x80, 0x80, 0x80]],
])("%s is not UTF-8, however it is cut", (_, values) => {
  const all = Uint8Array.from(values);
  for (let cut = 0; cut <= all.length; cut++) {
    expect(areUtf8Parts([edgesOf(all.slice(0, cut), all.slice(cut))])).toBe(false);
    expect(areUtf8Parts([edgesOf(all.slice(0, cut)), edgesOf(all.slice(cut))])).toBe(false);
  }
});

test("a part that was not checked makes a file count as not UTF-8", () => {
  expect(areUtf8Parts([edgesOf(bytes), null])).toBe(false);
});
