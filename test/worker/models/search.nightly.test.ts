/** Words of a search as FTS5 reads them, for all letters and digits of Unicode. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { parseQuery } from "../../../src/domain/search.ts";

beforeEach(() => env.DB.exec("DELETE FROM models"));

describe("a query", () => {
  test("a word of any letter or digit is one word to FTS5 as well", async () => {
    const letters = Array.from({ length: 0x110000 }, (_, code) => code)
      .filter((code) => code < 0xd800 || code > 0xdfff)
      .map((code) => String.fromCodePoint(code))
      .filter((letter) => /[\p{L}\p{N}]/u.test(letter));
    const query = parseQuery(letters.map((letter) => `a${letter}b`).join(" ")) ?? expect.fail();
    const words = query.words.filter((word) => word.length > 1);
    expect(words.length).toBeGreaterThan(130_000);
    // FTS5 would take a word apart into one that ends with `a` and the word `b`.
    const [, taken] = await env.DB.batch([
      env.DB.prepare("INSERT INTO reading_index (text) VALUES (?)").bind(words.join(" ")),
      env.DB.prepare("SELECT term FROM reading_words WHERE term IN ('a', 'b')"),
      env.DB.prepare("INSERT INTO reading_index (reading_index) VALUES ('delete-all')"),
    ]);
    expect(taken?.results).toEqual([]);
  });
});
