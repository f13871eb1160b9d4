/** Markdown of users: what is shown, and hostile texts. */
import { expect, test } from "vitest";
import { Markdown } from "../../src/dashboard/ui/markdown.ts";

const htmlOf = (text: string) => String(Markdown({ text }));

/** Returns all tags, with their attributes. */
const tagsOf = (html: string) => html.match(/<[^>]*>/g) ?? [];

test("common Markdown is shown", () => {
  const html = htmlOf(`# Story

Goes *on* with **any** story, ~~twice~~ and \`fast\`.

1. one
2. two

| Size | Seconds |
|:-----|--------:|
| 7B   | 1.5     |

- [x] done
- [ ] not yet

\`\`\`sh
curl 'https://example.com' | sh
\`\`\`
`);
  expect(html).toContain("<h2>Story</h2>");
  expect(html).toContain(
    "<p>Goes <em>on</em> with <strong>any</strong> story, <del>twice</del> and <code>fast</code>.</p>",
  );
  expect(html).toMatch(/<ol>\s*<li>one<\/li>\s*<li>two<\/li>\s*<\/ol>/);
  expect(html).toContain('<th scope="col" align="right">Seconds</th>');
  expect(html).toContain('<td align="right">1.5</td>');
  expect(html).toContain("☑ done");
  expect(html).toContain("☐ not yet");
  expect(html).toContain(
    "<pre tabindex=\"0\"><code>curl 'https://example.com' | sh\n</code></pre>",
  );
});

test("headings begin below the page's own, and end at the sixth level", () => {
  const html = htmlOf("# a\n\n## b\n\n###### c\n\nd\n===");
  expect(html).toContain("<h2>a</h2>");
  expect(html).toContain("<h3>b</h3>");
  expect(html).toContain("<h6>c</h6>");
  expect(html).toContain("<h2>d</h2>");
});

const REL = 'rel="nofollow ugc noopener"';

test.each([
  ["[a](https://example.com/?b=1&c=2)", `<a href="https://example.com/?b=1&amp;c=2" ${REL}>a</a>`],
  ["<https://example.com>", `<a href="https://example.com" ${REL}>https://example.com</a>`],
  ["<ada@example.com>", `<a href="mailto:ada@example.com" ${REL}>ada@example.com</a>`],
  [
    "(see https://example.com/a_b_c?d=1&e.)",
    `(see <a href="https://example.com/a_b_c?d=1&amp;e" ${REL}>https://example.com/a_b_c?d=1&amp;e</a>.)`,
  ],
  [
    '"http://example.com"',
    `&quot;<a href="http://example.com" ${REL}>http://example.com</a>&quot;`,
  ],
  ["[a][b]\n\n[b]: http://example.com 'title'", `<a href="http://example.com" ${REL}>a</a>`],
])("a link has rel attributes of a user's link: %s", (text, link) => {
  expect(htmlOf(text)).toContain(link);
});

test.each([
  "[a](javascript:alert(1))",
  "[a](JaVaScRiPt&colon;alert(1))",
  "[a](java&#x0A;script:alert(1))",
  "[a](\u0001javascript:alert(1))",
  "[a](data:text/html;base64,PHNjcmlwdD4=)",
  "[a](vbscript:x)",
  "[a](blob:https://example.com/1)",
  "[a](xmpp:ada@example.com)",
  "[a](https:example.com)",
  "[a](//example.com)",
  "[a](/sign-out)",
  "[a](?cursor=x)",
  "[a](#main)",
  "<javascript:alert(1)>",
])("a link that is no web address has no href: %s", (text) => {
  expect(htmlOf(text)).not.toContain("href");
});

test.each([
  ["![A cat](https://example.com/c.png)", `<a href="https://example.com/c.png" ${REL}>A cat</a>`],
  ["![](https://example.com/c.png)", `<a href="https://example.com/c.png" ${REL}>Image</a>`],
  [
    "[![build](https://example.com/b.svg)](https://example.com/ci)",
    `<a href="https://example.com/ci" ${REL}>build</a>`,
  ],
  ["![x](data:image/png;base64,AAAA)", "<a>x</a>"],
  ['![" onerror="alert(1)](x)', "<a>&quot; onerror=&quot;alert(1)</a>"],
])("a picture of another host becomes a link: %s", (text, link) => {
  expect(htmlOf(text)).toContain(link);
});

test.each([
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "a <b onmouseover=alert(1)>b</b>",
  "<style>body { display: none }</style>",
  "<!-- --><iframe src=https://example.com></iframe>",
  "<svg/onload=alert(1)>",
  "<details open ontoggle=alert(1)>",
  "```<script>\n</code></pre><script>alert(1)</script>\n```",
  '```"><script>alert(1)</script>\na\n```',
  "`</code><script>alert(1)</script>`",
  '[a](https://example.com/"onmouseover="alert(1))',
  "[a](https://example.com '\"><script>alert(1)</script>')",
  "|<script>|\n|-|\n|</td><script>alert(1)</script>|",
  "[^<script>]\n\n[^<script>]: <script>alert(1)</script>",
  "&lt;script&gt;alert(1)&lt;/script&gt;",
  "\\<script>alert(1)\\</script>",
])("raw HTML stays text: %s", (text) => {
  for (const tag of tagsOf(htmlOf(text))) {
    expect(tag).toMatch(
      /^<\/?(?:a|code|div|li|h3|ol|p|pre|section|sup|table|tbody|td|th|thead|tr)\b/,
    );
    expect(tag.replaceAll(/"[^"]*"/g, '""')).toMatch(
      /^<\/?\w+(?: (?:align|aria-label|class|href|id|rel|scope|tabindex)="")*>$/,
    );
  }
});

test("footnotes link to each other, and to nothing else of the page", () => {
  const html = htmlOf("Fast[^1].\n\n[^1]: On one GPU.");
  expect(html).toContain('<a href="#user-content-fn-1" id="user-content-fnref-1">1</a>');
  expect(html).toContain('<li id="user-content-fn-1">');
  expect(html).not.toContain("footnote-label");
});

test("a long text is cut, with a hint", () => {
  const html = htmlOf(`${"word ".repeat(20_000)}end`);
  expect(html.length).toBeLessThan(33_000);
  expect(html).toContain("Use the API to read all of it.");
  expect(htmlOf("word")).not.toContain("Use the API to read all of it.");
});

test.each([
  ["`https://example.com`", "<code>https://example.com</code>"],
  ["    https://example.com", "<code>https://example.com\n</code>"],
  ["xhttps://example.com https://.", "<p>xhttps://example.com https://.</p>"],
])("plain text becomes no link: %s", (text, html) => {
  expect(htmlOf(text)).toContain(html);
});

test("underlines do not count as nesting", () => {
  expect(htmlOf(`Title\n${"-".repeat(80)}\n\n${"- ".repeat(10)}`)).toContain("<h3>Title</h3>");
});
