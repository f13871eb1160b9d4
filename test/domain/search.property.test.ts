/** Any query makes an expression of bounded size, without syntax of its own. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { matchExpression, parseQuery, similarWordsExpression } from "../../src/domain/search.ts";

test("an expression never has more of a query than its letters and digits, and is of bounded size", () => {
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
