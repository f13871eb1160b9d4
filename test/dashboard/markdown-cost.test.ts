/** Markdown that was made to be costly is answered soon, and ordinary texts are read as what they are. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Markdown } from "../../src/dashboard/ui/markdown.tsx";

const htmlOf = (text: string) => String(Markdown({ text }));

/** What the longest text that is shown at all can have of something. */
const full = (pattern: string) => pattern.repeat(Math.ceil(32_000 / pattern.length));

/** Of a processor, ms: each of these took 3 to 39 s. */
const SOON = 1_000;

test.each([
  "]*",
  "a\n=\n",
  "a\n-\n",
  "*a_ ",
  "\\^]",
  "^~",
  "]",
  "*a**",
  "[a][",
  "[](a (",
  "- - a\n",
  "1. 1. a\n",
  "> - > - a\n",
  `${"- ".repeat(16)}a\n`,
  "- a\n  - a\n    - a\n      - a\n",
])("%j, again and again", (pattern) => {
  expect(timeOf(full(pattern))).toBeLessThan(SOON);
});

test.each(["a<", "a`", "\\a", "a\n", "w ", "*a<a> - "])(
  "a bracket that nothing closes, and %j again and again",
  (pattern) => {
    expect(timeOf(`[${full(pattern)}`)).toBeLessThan(SOON);
  },
);

test.each([
  [
    "a list in a list, a hundred times",
    Array.from({ length: 178 }, (_, depth) => `${"  ".repeat(depth)}- a\n`).join(""),
  ],
  ["tabs", Array.from({ length: 178 }, (_, depth) => `${"\t".repeat(depth)}- a\n`).join("")],
  [
    "a table's head of thousands",
    `${"|a".repeat(7_000)}\n${"|-".repeat(7_000)}\n${"|\n".repeat(1_400)}`,
  ],
  ["an address with nothing but its end", `http://a/${"!".repeat(31_000)}a`],
  ["entities in an address", `www.a/${full("&amp;")}`],
])("%s", (_, text) => {
  expect(timeOf(text)).toBeLessThan(SOON);
});

test("ordinary texts are read, however long", () => {
  const paths = globSync(
    "node_modules/{better-auth,drizzle-orm,esbuild,hono,micromark*,openai,vite,vitest,zod}/{README,readme}.md",
  );
  const texts = paths.map((path) => readFileSync(path, "utf8"));
  expect(texts.some((text) => text.length > 12_000)).toBe(true);
  for (const [n, text] of texts.entries())
    expect([paths[n], htmlOf(text)]).toEqual([
      paths[n],
      expect.not.stringMatching(/^<div class="markdown"><pre/),
    ]);
  const long = texts.join("\n\n").slice(0, 20_000);
  expect(long).toHaveLength(20_000);
  expect(htmlOf(long)).toContain("<h2>");
});

/** Of this process's own time: others have the processors, too. */
function timeOf(text: string): number {
  const before = process.cpuUsage();
  htmlOf(text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
