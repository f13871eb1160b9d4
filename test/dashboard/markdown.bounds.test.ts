/**
 * Bounds on reading Markdown: costly texts are shown as plain text, and ordinary texts are read.
 */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Markdown } from "../../src/dashboard/ui/markdown.ts";
import { HOSTILE } from "./hostile-markdown.ts";

const htmlOf = (text: string) => String(Markdown({ text }));

const PLAIN = /^<div class="markdown"><pre/;

test.each(HOSTILE)("a hostile text is bounded: $what", ({ text, read }) => {
  const html = htmlOf(text);
  expect(html).toMatch(/^<div class="markdown"><(?:pre|p)/);
  expect(PLAIN.test(html)).toBe(!read);
});

test("ordinary texts are read, however long", () => {
  const paths = globSync(
    "node_modules/{better-auth,drizzle-orm,esbuild,hono,micromark*,openai,vite,vitest,zod}/{README,readme}.md",
  );
  const texts = paths.map((path) => readFileSync(path, "utf8"));
  expect(texts.some((text) => text.length > 12_000)).toBe(true);
  for (const [n, text] of texts.entries())
    expect([paths[n], htmlOf(text)]).toEqual([paths[n], expect.not.stringMatching(PLAIN)]);
  const long = texts.join("\n\n").slice(0, 20_000);
  expect(long).toHaveLength(20_000);
  expect(htmlOf(long)).toContain("<h2>");
});
