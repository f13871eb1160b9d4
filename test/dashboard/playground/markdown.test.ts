/** The Markdown of answers: its HTML, and bounds on its time. */
import { expect, test } from "vitest";
import { blocksOf, spansOf } from "../../../src/dashboard/playground/chat/markdown.ts";
import { processorMs } from "../../support/processor-time.ts";

test("blocks become HTML", () => {
  const source = `# Title #
First line
second line

- one
- two
  goes on
  - inner
3. three

> said
> on

| a | b |
| --- | :-: |
| 1 | 2 |

***
\`\`\`\`js
const a = "\`\`\`";

# no title
\`\`\`\`
<b>end</b>`;
  expect(blocksOf(source)).toEqual([
    { kind: "heading", level: 1, text: "Title" },
    { kind: "text", text: "First line\nsecond line" },
    { kind: "list", start: null, depth: 0, items: ["one", "two\ngoes on"] },
    { kind: "list", start: null, depth: 1, items: ["inner"] },
    { kind: "list", start: 3, depth: 0, items: ["three"] },
    { kind: "quote", text: "said\non" },
    { kind: "table", head: ["a", "b"], rows: [["1", "2"]] },
    { kind: "rule" },
    { kind: "code", language: "js", text: 'const a = "```";\n\n# no title' },
    { kind: "text", text: "<b>end</b>" },
  ]);
});

test("code that is still being written is code", () => {
  expect(blocksOf("So:\n```py\nprint(")).toEqual([
    { kind: "text", text: "So:" },
    { kind: "code", language: "py", text: "print(" },
  ]);
});

test("spans become HTML, and only addresses of web pages are links", () => {
  expect(spansOf("a **b** *c* `d*e*` 2*3*4 [x](https://a.test/b)")).toEqual([
    { kind: "text", text: "a " },
    { kind: "strong", text: "b" },
    { kind: "text", text: " " },
    { kind: "em", text: "c" },
    { kind: "text", text: " " },
    { kind: "code", text: "d*e*" },
    { kind: "text", text: " 2*3*4 " },
    { kind: "link", text: "x", address: "https://a.test/b" },
  ]);
  for (const text of ["[x](javascript:alert(1))", "[x](data:text/html,x)", "[x](/sign-out)"])
    expect(spansOf(text)).toEqual([{ kind: "text", text }]);
});

test("a text of marks that are never closed takes no longer than others", () => {
  const started = processorMs();
  const marks = ["`", "**", "*a", "* ", "[a", "[a](https://a", "> ", "|-", "```\n", "#", " "];
  for (const before of ["", "# a", "- a", "a"])
    for (const mark of marks)
      for (const length of [20_000, 100_000])
        for (const block of blocksOf(`${before}${mark.repeat(length / mark.length)}b`))
          if ("text" in block) spansOf(block.text);
  expect(processorMs() - started).toBeLessThan(3_000);
});
