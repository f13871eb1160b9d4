/** The guides that the deployment serves beside its API reference. */
import { describe, expect, test } from "vitest";
import {
  FOR_CONTRIBUTORS,
  GUIDES,
  NAVIGATION,
  REFERENCE,
} from "../../../src/dashboard/docs/contents.ts";
import { Client, ORIGIN } from "../support/client.ts";

const nobody = new Client(undefined);

const all = (html: string, pattern: RegExp) =>
  [...html.matchAll(pattern)].map(([, found = ""]) => found);
const idsOf = (html: string) => all(html, /\sid="([^"]*)"/g);
const linksOf = (html: string) => all(html, /\shref="([^"]*)"/g);

const paths = [REFERENCE, ...GUIDES.keys()];
const pages = new Map(
  await Promise.all(
    paths.map(async (path) => {
      const response = await nobody.fetch(path);
      return [path, { html: await response.text() }] as const;
    }),
  ),
);
const pageAt = (path: string) => {
  const page = pages.get(path);
  if (!page) throw new Error(`There is no page at ${path}.`);
  return page;
};

test("every page has a navigation with all pages but those of contributors, which the first page ends its map with", async () => {
  const listed = NAVIGATION.flatMap((group) => group.pages.map(([path]) => path));
  const hidden = FOR_CONTRIBUTORS.map(([path]) => path);
  expect([...listed, ...hidden].toSorted()).toEqual(paths.toSorted());
  expect(linksOf(pageAt(REFERENCE).html)).toEqual(expect.arrayContaining(hidden));
  const found = await (await nobody.fetch("/docs/search?q=decisions")).text();
  for (const path of hidden) expect(found).not.toContain(`href="${path}`);
  for (const [path, { html }] of pages) {
    expect(linksOf(html)).toEqual(expect.arrayContaining([...listed, "/"]));
    if (listed.includes(path)) expect(html).toContain(`href="${path}" aria-current="page"`);
  }
});

describe.each([...GUIDES.keys()])("%s", (path) => {
  const { html } = pageAt(path);

  test("a guide names this deployment, and no other", () => {
    expect(html).not.toContain("auspex.example.com");
    if (/\$AUSPEX_URL|env\.AUSPEX_URL/.test(html)) {
      expect(all(html, /export AUSPEX_URL=([^\s<]+)/g)[0]).toBe(ORIGIN);
    }
  });

  test("every link of a guide has a target", () => {
    const ids = idsOf(html);
    expect(new Set(ids).size).toBe(ids.length);
    const broken = linksOf(html).filter((href) => {
      const [target = "", id] = href.split("#");
      if (!/^(?:\/docs(?:\/|$)|$)/.test(target)) return false;
      const page = target === "" ? { html } : pages.get(target);
      return !page || (id !== undefined && !idsOf(page.html).includes(id));
    });
    expect(broken).toEqual([]);
    expect(linksOf(html).filter((href) => !/^(?:[/#]|https:)/.test(href))).toEqual([]);
  });
});

test("a guide is the same with a token, and anybody may keep it for 5 minutes", async () => {
  const response = await new Client("aus_nobody").fetch("/docs/files");
  expect(response.headers.get("cache-control")).toBe("public, max-age=300");
  expect(await response.text()).toBe(pageAt("/docs/files").html);
});

test("an unknown guide is a page of the dashboard for browsers, and a problem for programs", async () => {
  const page = await nobody.fetch("/docs/unknown", { headers: { accept: "text/html" } });
  expect(page.status).toBe(404);
  expect(await page.text()).toContain("<h1>Not found</h1>");
  const problem = await nobody.fetch("/docs/unknown");
  expect(problem.status).toBe(404);
  expect(problem.headers.get("content-type")).toBe("application/problem+json");
});

test("a search of the documentation finds guides and calls alike", async () => {
  const response = await nobody.fetch(`/docs/search?q=${encodeURIComponent("idempotency key")}`);
  expect(response.status).toBe(200);
  const html = await response.text();
  expect(html).toContain('<li><a href="/docs/calling#');
  const calls = await (await nobody.fetch("/docs/search?q=cancel+prediction")).text();
  expect(calls).toContain('href="/docs#');
  const none = await (await nobody.fetch("/docs/search?q=%3Cscript%3E+xyzzy")).text();
  expect(none).toContain("No results.");
  expect(none).toContain("Search for “&lt;script&gt; xyzzy”");
  for (const target of [...html.matchAll(/<li><a href="([^"#]*)#([^"]*)"/g)])
    expect(idsOf(pageAt(target[1] ?? "").html)).toContain(target[2]);
});
