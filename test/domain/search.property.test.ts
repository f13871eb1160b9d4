/** Search expressions: of bounded size for any query, without syntax from the query. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { matchExpression, parseQuery, similarWordsExpression } from "../../src/domain/search.ts";

test("a search expression has only the letters and digits of a query, and is of bounded size", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 50 }), (q) => {
      const query = parseQuery(q);
      if (!query) return;
      for (const word of query.words) {
        expect(word).toMatch(/^[\p{L}\p{N}]+$/u);
        expect(similarWordsExpression(word).length).toBeLessThan(20_000);
      }
      const alternatives = query.words.map(() => Array<string>(32).fill("a".repeat(32)));
      expect(matchExpression(query, { alternatives }).length).toBeLessThan(100_000);
    }),
  );
});
