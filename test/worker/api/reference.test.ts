/** /docs/reference: the API reference for people. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import {
  groupPath,
  REFERENCE,
  REFERENCE_PAGES,
  SCHEMAS,
} from "../../../src/dashboard/docs/contents.ts";
import { plainText } from "../../../src/dashboard/ui/markdown.ts";
import { operationsIn } from "../../../src/openapi/document.ts";
import { Client, ORIGIN } from "../support/client.ts";
import { askInShape, documentIn, schemasOf } from "../support/document.ts";

/** Allowed links to other sites: the specifications of problems and of signatures. */
const ELSEWHERE = ["https://www.rfc-editor.org/rfc/rfc9457", "https://www.standardwebhooks.com"];
const MAX_COMPRESSED_BYTES = 100_000;

const nobody = new Client(undefined);
const document = await documentIn("A");
const operations = operationsIn(document);
const pages = new Map(
  await Promise.all(
    REFERENCE_PAGES.map(async ([path]) => {
      const response = await nobody.fetch(path);
      return [path, { response, html: await response.text() }] as const;
    }),
  ),
);
const pageAt = (path: string) => pages.get(path)?.html ?? "";

const all = (html: string, pattern: RegExp) =>
  [...html.matchAll(pattern)].map(([, found = ""]) => found);
const idsOf = (html: string) => all(html, /\sid="([^"]*)"/g);
const linksOf = (html: string) => all(html, /\s(?:href|src)="([^"]*)"/g);

test.each([...pages])("anybody may read %s and keep it for 5 minutes", (_, { response, html }) => {
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/html; charset=UTF-8");
  expect(response.headers.get("cache-control")).toBe("public, max-age=300");
  expect(html).toMatch(/^<!DOCTYPE html><html lang="en">/);
});

test("the overview of the reference names the base URL, and every group, whose page has its operations", () => {
  const overview = pageAt(REFERENCE);
  expect(overview).toContain(`<code>${ORIGIN}/v1</code>`);
  for (const id of ["authentication", "errors", "pagination"]) {
    expect(idsOf(overview)).toContain(id);
    expect(linksOf(overview)).toContain(`#${id}`);
  }
  expect(operations.length).toBeGreaterThan(30);
  for (const { operation } of operations) {
    const path = groupPath(operation.tags?.[0] ?? "");
    expect(linksOf(overview)).toContain(path);
    expect(idsOf(pageAt(path))).toContain(operation.operationId);
    expect(linksOf(pageAt(path))).toContain(`#${operation.operationId}`);
  }
});

test("every operation has a call to paste in three languages, coloured, beside its text", () => {
  for (const { operation } of operations) {
    const [, code = ""] = callOf(operation.operationId ?? "").split('<div class="beside">');
    expect(code).toContain('<code data-code="curl"><span class="code-word">curl</span> ');
    expect(code).toContain('data-language="python"');
    expect(code).toContain('data-language="js"');
  }
  const create = callOf("createPrediction");
  expect(textOf(create)).toContain(`curl -X POST '${ORIGIN}/v1/predictions'`);
  expect(textOf(create)).toContain("Bearer $AUSPEX_TOKEN");
  expect(create).toContain('<span class="code-string">&quot;succeeded&quot;</span>');
});

test("the calls of conventions have the addresses that their clients use", () => {
  expect(textOf(callOf("createChatCompletion"))).toContain(`${ORIGIN}/openai/v1/chat/completions`);
  expect(textOf(callOf("createMessage"))).toContain(`${ORIGIN}/anthropic/v1/messages`);
});

function callOf(id: string): string {
  const page = [...pages.values()].find(({ html }) => html.includes(`<article id="${id}"`));
  const [, article = ""] = page?.html.split(`<article id="${id}"`) ?? [];
  return article.slice(0, article.indexOf("</article>"));
}

const textOf = (html: string) => plainText(html).replaceAll("&#39;", "'");

test("a field of any JSON value is not shown as a list of it", () => {
  expect(callOf("getPrediction")).toContain(
    '<code class="name">output</code> <span class="quiet small">any</span>',
  );
  for (const { html } of pages.values()) expect(html).not.toContain("array of any");
});

test("the reference shows calls that send and receive bytes, and how addresses are requested", () => {
  const put = callOf("putUploadPart");
  expect(textOf(put)).toContain("curl -X PUT -i 'http");
  expect(put).toMatch(/parts\/1\?[^ ]*signature=[\w-]{43}/);
  expect(put).toContain("--data-binary @part");
  expect(put).toContain("Content-Type: application/octet-stream");
  expect(put).not.toContain("Bearer");
  expect(put).toContain('<span class="access">signed URL</span>');
  expect(put).toContain("raw bytes");
  const read = callOf("readFile");
  expect(textOf(read)).toContain("curl -O 'http");
  expect(read).toContain("Bearer $AUSPEX_TOKEN");
  expect(read).toContain('<span class="access">signed URL or access token</span>');
});

test.each([
  ["createChatCompletion", ["demo/chat", "Who is the Mad Hatter?"]],
  ["createResponse", ["demo/chat", "Who is the Mad Hatter?"]],
  ["createEmbeddings", ["demo/embeddings", "kitten"]],
])("the call of %s runs unchanged with the models of npm start", (id, shown) => {
  const [, body = ""] = /-d '(.*?)'/s.exec(textOf(callOf(id))) ?? [];
  const sent = JSON.parse(body);
  expect(Object.keys(sent)).toHaveLength(2);
  for (const text of shown) expect(JSON.stringify(sent)).toContain(text);
});

test("the reference shows clients of OpenAI how to begin", () => {
  const [, group = ""] = pageAt("/docs/reference/openai").split("<h1>OpenAI</h1>");
  const about = group.slice(0, group.indexOf("<ul"));
  expect(about).toContain("<code>/openai/v1</code>");
  expect(about).toContain('<span class="code-word">import</span> OpenAI');
  expect(textOf(about)).toContain('import OpenAI from "openai";\nconst client = ');
  expect(about).not.toContain("```");
});

test("the reference has every schema", () => {
  const ids = idsOf(pageAt(SCHEMAS));
  for (const name of Object.keys(schemasOf(document))) expect(ids).toContain(`schema-${name}`);
});

/** Returns the schema of owners. */
const ownerIn = (page: string) =>
  page.split('id="schema-Owner"')[1]?.split("</article>")[0] ?? expect.fail("no schema");

test("the reference has the shape that the deployment serves", async () => {
  const inB = await (await askInShape("B", SCHEMAS)).text();
  expect(ownerIn(pageAt(SCHEMAS))).not.toContain('<code class="name">account_id</code>');
  expect(ownerIn(inB)).toContain('<code class="name">account_id</code>');
});

test.each([...pages])(
  "%s fetches nothing from other sites, and runs only the site's own scripts",
  (_, { response, html }) => {
    const outside = linksOf(html).filter((link) => /^(?:[a-z]+:|\/\/)/i.test(link));
    expect(outside.filter((link) => !ELSEWHERE.includes(link))).toEqual([]);
    for (const script of html.match(/<script[^>]*>[^<]*/g) ?? [])
      expect(script).toMatch(/^<script type="module" src="\/assets\/(?:page|docs)-\w+\.js">$/);
    expect(html).not.toMatch(/\son\w+=|style="/i);
    const policy = response.headers.get("content-security-policy")?.split("; ") ?? [];
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        ...["script-src", "style-src", "font-src"].map((kind) => `${kind} ${ORIGIN}/assets/`),
      ]),
    );
    expect(policy.join()).not.toContain("unsafe-inline");
  },
);

test.each([...pages])("headings of %s are in order, and landmarks exist", (_, { html }) => {
  const levels = all(html, /<h([1-6])[\s>]/g).map(Number);
  expect(levels[0]).toBe(1);
  for (const [n, level] of levels.entries()) {
    expect(level).toBeLessThanOrEqual((levels[n - 1] ?? 0) + 1);
  }
  for (const landmark of ["<header class=", "<nav aria-label=", '<main id="main"']) {
    expect(html).toContain(landmark);
  }
});

test.each([...pages])("%s has at most 100,000 bytes, compressed", async (_, { html }) => {
  const compressed = new Response(html).body?.pipeThrough(new CompressionStream("gzip"));
  const { byteLength } = await new Response(compressed).arrayBuffer();
  expect(byteLength).toBeLessThan(MAX_COMPRESSED_BYTES);
});

test("the stylesheet of the reference is an asset, and fetches nothing but fonts", async () => {
  const [href = ""] = all(pageAt(REFERENCE), /<link rel="stylesheet" href="([^"]*)"/g);
  const sheet = await env.ASSETS.fetch(`${ORIGIN}${href}`);
  expect(sheet.status).toBe(200);
  expect(sheet.headers.get("content-type")).toMatch(/^text\/css/);
  const text = await sheet.text();
  expect(text).not.toMatch(/@import/);
  for (const [address] of text.matchAll(/url\([^)]*/g))
    expect(address).toMatch(/figtree[\w-]*\.woff2|data:image\/svg/);
});

test("the root of the dashboard links to the documentation", async () => {
  const root = await nobody.fetch("/", { headers: { accept: "text/html" } });
  expect(await root.text()).toContain('href="/docs"');
});
