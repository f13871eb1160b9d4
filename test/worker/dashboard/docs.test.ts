/** The guides and the map of the documentation, its links, and its search. */
import { expect, test } from "vitest";
import {
  DOCS,
  FOR_CONTRIBUTORS,
  GUIDES,
  NAVIGATION,
  PAGES,
} from "../../../src/dashboard/docs/contents.ts";
import { Client, ORIGIN } from "../support/client.ts";

const nobody = new Client(undefined);

const all = (html: string, pattern: RegExp) =>
  [...html.matchAll(pattern)].map(([, found = ""]) => found);
const idsOf = (html: string) => all(html, /\sid="([^"]*)"/g);
const linksOf = (html: string) => all(html, /\shref="([^"]*)"/g);

const pages = new Map(
  await Promise.all(
    PAGES.map(async (path) => {
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
  expect([DOCS, ...listed, ...hidden].toSorted()).toEqual(PAGES.toSorted());
  expect(linksOf(pageAt(DOCS).html)).toEqual(expect.arrayContaining(hidden));
  const found = await (await nobody.fetch("/docs/search?q=decisions")).text();
  for (const path of hidden) expect(found).not.toContain(`href="${path}`);
  for (const [path, { html }] of pages) {
    expect(linksOf(html)).toEqual(expect.arrayContaining([...listed, "/"]));
    if (listed.includes(path)) expect(html).toContain(`href="${path}" aria-current="page"`);
  }
});

test.each([...GUIDES.keys()])("the guide %s names this deployment, and no other", (path) => {
  const { html } = pageAt(path);
  expect(html).not.toContain("auspex.example.com");
  if (/\$AUSPEX_URL|env\.AUSPEX_URL/.test(html)) {
    expect(all(html, /export AUSPEX_URL=([^\s<]+)/g)[0]).toBe(ORIGIN);
  }
});

/** Whether a link leads to a page of the documentation that does not exist, or to an ID that it does not have. */
function isBroken(href: string, from = ""): boolean {
  const [target = "", id] = href.replace(ORIGIN, "").split("#");
  if (!/^(?:\/docs(?:\/|$)|$)/.test(target) || target.startsWith("/docs/search")) return false;
  const page = pages.get(target || from);
  return !page || (id !== undefined && !idsOf(page.html).includes(id));
}

test.each(PAGES)("every link of the page %s has a target", (path) => {
  const { html } = pageAt(path);
  const ids = idsOf(html);
  expect(new Set(ids).size).toBe(ids.length);
  expect(linksOf(html).filter((href) => isBroken(href, path))).toEqual([]);
  expect(linksOf(html).filter((href) => !/^(?:[/#]|https:)/.test(href))).toEqual([]);
});

test("every address of the documentation in the dashboard, the API and the command has a target", () => {
  const sources = import.meta.glob<string>("../../../{src,runner/src}/**/*.{ts,tsx}", {
    query: "?raw",
    import: "default",
    eager: true,
  });
  const named = Object.values(sources).flatMap((text) =>
    all(text, /(?<![\w.])(\/docs(?:[/#][\w/#-]*)?)(?=["'`)\s.,]|$)/gm),
  );
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((href) => isBroken(href.replace(/\/$/, "")))).toEqual([]);
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
  expect(calls).toContain('href="/docs/reference/predictions#cancelPrediction"');
  const common = await (await nobody.fetch("/docs/search?q=pagination")).text();
  expect(common).toContain('href="/docs/reference#pagination"');
  const none = await (await nobody.fetch("/docs/search?q=%3Cscript%3E+xyzzy")).text();
  expect(none).toContain("No results.");
  expect(none).toContain("Search for “&lt;script&gt; xyzzy”");
  for (const target of [...html.matchAll(/<li><a href="([^"#]*)#([^"]*)"/g)])
    expect(idsOf(pageAt(target[1] ?? "").html)).toContain(target[2]);
});
