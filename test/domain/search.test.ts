import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  accessExpression,
  canBeMisspelt,
  matchExpression,
  nearWords,
  parseQuery,
  similarWordsExpression,
  tierOf,
} from "../../src/domain/search.ts";

const wordsOf = (q: string) => parseQuery(q)?.words;

describe("a query", () => {
  test("a query is read as its words: runs of letters and digits, each once", () => {
    expect(wordsOf("stable-diffusion xl_2.1 stable")).toEqual([
      ...["stable", "diffusion", "xl", "2", "1"],
    ]);
    expect(wordsOf("ada/whisper")).toEqual(["ada", "whisper"]);
    expect(wordsOf("拡散モデル Ünïcode")).toEqual(["拡散モデル", "Ünïcode"]);
  });

  test("a query with FTS syntax is read as words", () => {
    expect(wordsOf(`"a" OR b) AND {c d}: ^e* NEAR(f, 2) -g NOT+h`)).toEqual([
      ...["a", "OR", "b", "AND", "c", "d", "e", "NEAR", "f", "2", "g", "NOT", "h"],
    ]);
  });

  test("a query without a letter or a digit is empty", () => {
    for (const q of ["", "  ", "🤖🤖", `"'*^:-{}()`, "\0", "\ud800", "\ue000\ue002"])
      expect(parseQuery(q)).toBeUndefined();
  });

  test("a query has its decomposed characters composed", () => {
    expect(wordsOf("cafe\u0301")).toEqual(["café"]);
  });
});

describe("an expression", () => {
  const whisper = parseQuery("Whisper") ?? expect.fail();
  const EXACT = '"\ue00277686973706572"';

  test("an expression finds a prefix or an exact name that no better tier has found", () => {
    const match = `((("Whisper"*)) OR ${EXACT})`;
    expect(matchExpression(whisper, {})).toBe(`(${match}) NOT seen: ${match}`);
  });

  test("an expression has all words, each with its alternatives", () => {
    const query = parseQuery("two words") ?? expect.fail();
    expect(matchExpression(query, { alternatives: [[], ["swords", "word"]] })).toContain(
      '(("two"*) AND ("words"* OR "swords" OR "word"))',
    );
  });

  test("an expression asks only for models that the caller may see", () => {
    expect(accessExpression([])).toBe('"\ue000"');
    expect(accessExpression(["0190-ab"])).toBe('"\ue000" OR "\ue0010190ab"');
    expect(matchExpression(whisper, { access: accessExpression([]) })).toContain(
      'AND marks: ("\ue000"))',
    );
  });

  test("an expression leaves out tiers behind the last", () => {
    expect(matchExpression(whisper, { lastTier: 1 })).toContain(
      'AND marks: ("\ue0030" OR "\ue0031"))',
    );
    expect(matchExpression(whisper, { lastTier: 4 })).not.toContain("marks");
  });
});

test("the tier of a rank does not depend on the number of the model", () => {
  for (const [rank, tier] of [
    [-1, 0],
    [1 - 2 ** 40, 0],
    [2 ** 40 - 1, 1],
    [2 ** 40 * 9 - 5, 9],
  ])
    expect(tierOf(rank ?? Number.NaN) + 0).toBe(tier);
});

describe("what is near", () => {
  const known = [
    ...["whisper", "diffusion", "stable", "llama", "story", "controlnet", "wander", "cafe"],
  ];
  const cases: [typed: string, found: string[]][] = [
    ["whispr", ["whisper"]],
    ["wisper", ["whisper"]],
    ["whjsper", ["whisper"]],
    ["whispeer", ["whisper"]],
    ["hwisper", ["whisper"]],
    ["difusion", ["diffusion"]],
    ["Difussion", ["diffusion"]],
    ["stabel", ["stable"]],
    ["lamma", ["llama"]],
    ["storry", ["story"]],
    ["net", ["controlnet"]],
    ["usion", ["diffusion"]],
    ["kafé", ["cafe"]],
  ];
  test.each(cases)("the word %s has the near words %j", (typed, found) => {
    expect(nearWords(typed, known)).toEqual(found);
  });

  test("a word that is two edits away, or that a prefix finds, is not near", () => {
    for (const typed of ["wispr", "whiskey", "whis", "st", "sotyr"])
      expect(nearWords(typed, known)).toEqual([]);
  });

  test("a query for near words is short, and is not made where no word is so long", () => {
    expect(similarWordsExpression("x".repeat(33)).split(" OR ")).toHaveLength(3);
    expect([32, 33, 34, 50].map((length) => canBeMisspelt("x".repeat(length)))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test("a query for near words has a piece of the intended word after any one edit", () => {
    const letter = fc.constantFrom(..."abcdefgh");
    const word = fc.array(letter, { minLength: 6, maxLength: 20 });
    fc.assert(
      fc.property(word, fc.nat(), letter, fc.nat(3), (letters, at, other, edit) => {
        const n = at % (letters.length - 1);
        const [one = "", two = ""] = letters.slice(n);
        const typed = [
          letters.toSpliced(n, 0, other),
          letters.toSpliced(n, 1),
          letters.toSpliced(n, 1, other),
          letters.toSpliced(n, 2, two, one),
        ][edit]?.join("");
        const meant = letters.join("");
        if (typed === undefined) expect.fail();
        expect(matches(similarWordsExpression(typed), meant)).toBe(true);
      }),
    );
  });
});

/** Returns whether FTS5 would match: a phrase of trigrams is a substring. */
const matches = (pieces: string, text: string) =>
  pieces
    .split(" OR ")
    .some((clause) =>
      [...clause.matchAll(/"([^"]*)"/g)].every(([, piece]) => text.includes(piece ?? "")),
    );
