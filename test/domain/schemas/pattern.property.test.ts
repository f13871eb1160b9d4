import fc from "fast-check";
import { expect, test } from "vitest";
import { PatternMatcher } from "../../../src/domain/schemas/json-schema.ts";
import { Meter } from "../../../src/domain/schemas/json-schema-visit.ts";

const { pattern: anyPattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(..."ab.^$🐈-# "),
    fc.constantFrom("[ab]", "[^a]", "[^]", "[]", "[\\s]", "[^\\S]", "[\\b]", "[^^]", "[a\\-z]"),
    fc.constantFrom("\\b", "\\B", "\\s", "\\S", "\\w", "\\W", "\\D", "\\t", "\\v", "\\.", "\\/"),
    fc.constantFrom("\\u0041", "\\u{1f408}", "\\ud83d\\udc08", "\\x2d", "\\cJ", "\\0", "\\p{L}"),
    fc.constantFrom("[🐈-🐙]", "[[:alpha:a]", "[[:a]", "[\\p{Lu}\\d]", "[\\w-]", "[.]", "[\\\\s]"),
    fc.constantFrom(
      "\\P{L}",
      "\\p{C}",
      "[^\\P{C}]",
      "\\\\s",
      "\\.",
      "\\\\.",
      "(?:)",
      "()",
      "[x\\]]",
    ),
    fc.tuple(tie("pattern"), tie("pattern")).map(([a, b]) => a + b),
    fc.tuple(tie("pattern"), tie("pattern")).map(([a, b]) => `(?:${a}|${b})`),
    fc.tuple(tie("pattern"), tie("pattern")).map(([a, b]) => `${a}|${b}`),
    fc
      .tuple(tie("pattern"), fc.constantFrom("*", "+", "?", "{3}", "{2,}", "{0,9}", "*?"))
      .map(([a, times]) => `(${a})${times}`),
  ),
}));
const anyText = fc
  .array(fc.constantFrom(..."abA1 \n\r\u2028\u00a0\ufeff-🐈🐙äΩ\b\0[]:_/.^\t\v#\x7f"), {
    maxLength: 8,
  })
  .map((characters) => characters.join(""));

test("a pattern that is used means the same to RE2 as to JavaScript", () => {
  let used = 0;
  fc.assert(
    fc.property(anyPattern, fc.array(anyText, { minLength: 5 }), (pattern, texts) => {
      const matcher = new PatternMatcher(new Meter());
      const native = new RegExp(pattern, "u");
      for (const text of texts) {
        // V8 sees no word boundary within a surrogate pair, so surrogates are removed.
        const plain = /\\[bB]/.test(pattern) ? text.replace(/[\ud800-\udfff]/g, "") : text;
        const got = matcher.matches(pattern, plain);
        if (got === undefined) return;
        used++;
        // A call of `expect` takes longer than both matches.
        if (got !== native.test(plain))
          expect([pattern, plain, got]).toEqual([pattern, plain, !got]);
      }
    }),
    { numRuns: 4_000 },
  );
  expect(used).toBeGreaterThan(4_000);
});
