/** Patterns mean the same to RE2 as to JavaScript. */
import fc from "fast-check";
import { RE2JS } from "re2js";
import { expect, test } from "vitest";
import { toRe2 } from "../../../src/domain/schemas/pattern.ts";

const { pattern: anyPattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(..."ab.^$🐈-# "),
    fc.constantFrom("[ab]", "[^a]", "[^]", "[]", "[\\s]", "[^\\S]", "[\\b]", "[^^]", "[a\\-z]"),
    fc.constantFrom("\\b", "\\B", "\\s", "\\S", "\\w", "\\W", "\\D", "\\t", "\\v", "\\.", "\\/"),
    fc.constantFrom("\\u0041", "\\u{1f408}", "\\ud83d\\udc08", "\\x2d", "\\cJ", "\\0", "\\p{L}"),
    fc.constantFrom("[🐈-🐙]", "[[:alpha:a]", "[\\p{Lu}\\d]", "[\\w-]"),
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

test("a pattern of any kind that is taken compiles, and means the same", () => {
  fc.assert(
    fc.property(anyPattern, fc.array(anyText, { minLength: 5 }), (pattern, texts) => {
      const found = toRe2(pattern);
      fc.pre(found !== undefined);
      const native = new RegExp(pattern, "u");
      const engine = RE2JS.compile(found?.source ?? "");
      for (const text of texts) {
        // Within a pair of surrogates V8 sees a place that is no boundary.
        const plain = /\\[bB]/.test(pattern) ? text.replace(/[\ud800-\udfff]/g, "") : text;
        const [got, wanted] = [engine.test(plain), native.test(plain)];
        // An expectation takes longer than the two.
        if (got !== wanted) expect([plain, got]).toEqual([plain, wanted]);
      }
    }),
    { numRuns: 2_000 },
  );
});
