/** Colours of code samples. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type CodeLanguage, codePieces } from "../../src/dashboard/ui/highlight.ts";

test("coloured code has the same text, whatever it is", () => {
  const language = fc.constantFrom<CodeLanguage>("python", "js", "curl", "http", "json");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), language, (code, of) => {
      expect(
        codePieces(code, of)
          .map(({ text }) => text)
          .join(""),
      ).toBe(code);
    }),
  );
});

test("strings, comments, words and numbers have colours, and addresses have no comments", () => {
  const coloured = (code: string, language: CodeLanguage) =>
    codePieces(code, language).flatMap(({ kind, text }) => (kind ? [[kind, text]] : []));
  expect(coloured('# pip install x\nprint("it\\"s # 1", 2)', "python")).toEqual([
    ["comment", "# pip install x"],
    ["word", "print"],
    ["string", '"it\\"s # 1"'],
    ["number", "2"],
  ]);
  expect(coloured("curl https://auspex.test/docs#a", "curl")).toEqual([["word", "curl"]]);
});
