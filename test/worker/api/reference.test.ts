/** /docs: the API reference for people. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { operationsIn } from "../../../src/openapi/document.ts";
import { Client, ORIGIN } from "../support/client.ts";
import { askInShape, documentIn, schemasOf } from "../support/document.ts";

/** Allowed links to other sites: the specifications of problems and of signatures. */
const ELSEWHERE = ["https://www.rfc-editor.org/rfc/rfc9457", "https://www.standardwebhooks.com"];
const MAX_COMPRESSED_BYTES = 100_000;

const nobody = new Client(undefined);
const response = await nobody.fetch("/docs");
const html = await response.text();
const document = await documentIn("A");
const operations = operationsIn(document);

const all = (pattern: RegExp) => [...html.matchAll(pattern)].map(([, found = ""]) => found);
const ids = all(/\sid="([^"]*)"/g);
const links = all(/\s(?:href|src)="([^"]*)"/g);

test("the reference is a page that anybody may read and keep for 5 minutes", () => {
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/html; charset=UTF-8");
  expect(response.headers.get("cache-control")).toBe("public, max-age=300");
  expect(html).toMatch(/^<!DOCTYPE html><html lang="en">/);
});

test("the reference has every operation, with a call to paste", () => {
  expect(operations.length).toBeGreaterThan(30);
  for (const { operation, path } of operations) {
    expect(ids).toContain(operation.operationId);
    expect(links).toContain(`#${operation.operationId}`);
    expect(html).toContain(`<code>${path}</code>`);
  }
  expect(all(/<code>(curl )/g)).toHaveLength(operations.length);
  expect(html).toContain(`curl -X POST &#39;${ORIGIN}/v1/predictions&#39;`);
  expect(html).toContain("Bearer $AUSPEX_TOKEN");
  expect(all(/data-language="(python)"/g)).toHaveLength(operations.length);
  expect(all(/data-language="(js)"/g)).toHaveLength(operations.length);
});

const callOf = (id: string) => {
  const [, article = ""] = html.split(`<article id="${id}"`);
  return article.slice(0, article.indexOf("</article>"));
};

test("a field of any JSON value is not shown as a list of it", () => {
  expect(callOf("getPrediction")).toContain(
    '<code class="name">output</code> <span class="quiet small">any</span>',
  );
  expect(html).not.toContain("array of any");
});

test("the reference shows calls that send and receive bytes, and how addresses are requested", () => {
  const put = callOf("putUploadPart");
  expect(put).toContain("curl -X PUT -i &#39;");
  expect(put).toMatch(/parts\/1\?[^ ]*signature=[\w-]{43}/);
  expect(put).toContain("--data-binary @part");
  expect(put).toContain("Content-Type: application/octet-stream");
  expect(put).not.toContain("Bearer");
  expect(put).toContain('<span class="access">signed URL</span>');
  expect(put).toContain("raw bytes");
  const read = callOf("readFile");
  expect(read).toContain("curl -O &#39;");
  expect(read).toContain("Bearer $AUSPEX_TOKEN");
  expect(read).toContain('<span class="access">signed URL or access token</span>');
});

test.each([
  ["createChatCompletion", ["demo/chat", "Who is the Mad Hatter?"]],
  ["createResponse", ["demo/chat", "Who is the Mad Hatter?"]],
  ["createEmbeddings", ["demo/embeddings", "kitten"]],
])("the call of %s runs unchanged with the models of npm start", (id, shown) => {
  const [, body = ""] = /-d &#39;(.*?)&#39;/s.exec(callOf(id)) ?? [];
  const sent = JSON.parse(body.replaceAll("&quot;", '"'));
  expect(Object.keys(sent)).toHaveLength(2);
  for (const text of shown) expect(JSON.stringify(sent)).toContain(text);
});

test("the reference shows clients of OpenAI how to begin", () => {
  const [, group = ""] = html.split('<h2 id="vendora">');
  const about = group.slice(0, group.indexOf("<ul"));
  expect(about).toContain("<code>/openai/v1</code>");
  expect(about).toMatch(
    /<pre tabindex="0"><code class="language-js">import OpenAI from &quot;openai&quot;;\nconst client = /,
  );
  expect(about).not.toContain("```");
});

test("the reference has every schema", () => {
  for (const name of Object.keys(schemasOf(document))) expect(ids).toContain(`schema-${name}`);
});

test("the reference has the shape that the deployment serves", async () => {
  const inB = await (await askInShape("B", "/docs")).text();
  expect(html).not.toContain('<code class="name">account_id</code>');
  expect(inB).toContain('<code class="name">account_id</code>');
});

test("every link within the reference has a target", () => {
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  const targets = links.filter((link) => link.startsWith("#")).map((link) => link.slice(1));
  expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
});

test("the reference fetches nothing from other sites, and runs only the site's own scripts", () => {
  const outside = links.filter((link) => /^(?:[a-z]+:|\/\/)/i.test(link));
  expect(new Set(outside)).toEqual(new Set(ELSEWHERE));
  expect(html.match(/<script[^>]*>[^<]*/g)).toEqual([
    expect.stringMatching(/^<script type="module" src="\/assets\/page-\w+\.js">$/),
    expect.stringMatching(/^<script type="module" src="\/assets\/docs-\w+\.js">$/),
  ]);
  expect(html).not.toMatch(/\son\w+=|style="/i);
  const policy = response.headers.get("content-security-policy")?.split("; ") ?? [];
  expect(policy).toEqual(
    expect.arrayContaining([
      "default-src 'none'",
      ...["script-src", "style-src", "font-src"].map((kind) => `${kind} ${ORIGIN}/assets/`),
    ]),
  );
  expect(policy.join()).not.toContain("unsafe-inline");
});

test("headings of the reference are in order, and landmarks exist", () => {
  const levels = all(/<h([1-6])[\s>]/g).map(Number);
  expect(levels[0]).toBe(1);
  for (const [n, level] of levels.entries()) {
    expect(level).toBeLessThanOrEqual((levels[n - 1] ?? 0) + 1);
  }
  for (const landmark of ["<header class=", "<nav aria-label=", '<main id="main"']) {
    expect(html).toContain(landmark);
  }
});

test("the compressed reference has at most 100,000 bytes", async () => {
  const compressed = new Response(html).body?.pipeThrough(new CompressionStream("gzip"));
  const { byteLength } = await new Response(compressed).arrayBuffer();
  expect(byteLength).toBeLessThan(MAX_COMPRESSED_BYTES);
});

test("the stylesheet of the reference is an asset, and fetches nothing but fonts", async () => {
  const [href = ""] = all(/<link rel="stylesheet" href="([^"]*)"/g);
  const sheet = await env.ASSETS.fetch(`${ORIGIN}${href}`);
  expect(sheet.status).toBe(200);
  expect(sheet.headers.get("content-type")).toMatch(/^text\/css/);
  const text = await sheet.text();
  expect(text).not.toMatch(/@import/);
  for (const [address] of text.matchAll(/url\([^)]*/g))
    expect(address).toMatch(/figtree[\w-]*\.woff2|data:image\/svg/);
});

test("the root of the dashboard redirects to the reference", async () => {
  const root = await nobody.fetch("/", { headers: { accept: "text/html" } });
  expect(await root.text()).toContain('href="/docs"');
});
