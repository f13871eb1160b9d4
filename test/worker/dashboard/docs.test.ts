/** The guides that the deployment serves beside its API reference. */
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { GUIDES, NAVIGATION, REFERENCE } from "../../../src/dashboard/docs/contents.ts";
import { Client, ORIGIN } from "../support/client.ts";

const nobody = new Client(undefined);

/** Content types by the extension of a file. */
const TYPES: Record<string, string> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  png: "image/png",
  svg: "image/svg+xml",
  webp: "image/webp",
};

const all = (html: string, pattern: RegExp) =>
  [...html.matchAll(pattern)].map(([, found = ""]) => found);
const idsOf = (html: string) => all(html, /\sid="([^"]*)"/g);
const linksOf = (html: string) => all(html, /\shref="([^"]*)"/g);

const paths = [REFERENCE, ...GUIDES.keys()];
const pages = new Map(
  await Promise.all(
    paths.map(async (path) => {
      const response = await nobody.fetch(path);
      return [path, { response, html: await response.text() }] as const;
    }),
  ),
);
const pageAt = (path: string) => {
  const page = pages.get(path);
  if (!page) throw new Error(`There is no page at ${path}.`);
  return page;
};

test("every page has a navigation with all pages", () => {
  const listed = NAVIGATION.flatMap((group) => group.pages.map(([path]) => path));
  expect(listed.toSorted()).toEqual(paths.toSorted());
  for (const [path, { html }] of pages) {
    expect(linksOf(html)).toEqual(expect.arrayContaining([...listed, "/"]));
    expect(html).toContain(`href="${path}" aria-current="page"`);
  }
});

describe.each([...GUIDES.keys()])("%s", (path) => {
  const { response, html } = pageAt(path);

  test("a guide is public, and cached like the reference", () => {
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=UTF-8");
    expect(response.headers.get("cache-control")).toBe("public, max-age=300");
    expect(html).toMatch(/^<!DOCTYPE html><html lang="en">/);
    expect(html).toMatch(/<title>[A-Z][^<]+ · Auspex<\/title>/);
    expect(html).toMatch(/<meta name="description" content="[A-Z][^"]+\."/);
  });

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

  test("every heading of a guide has an anchor, and all but deep ones are in the table of contents", () => {
    const headings = [...html.matchAll(/<h([2-6]) id="([^"]*)"><a href="#([^"]*)">/g)];
    expect(headings.length).toBeGreaterThan(3);
    expect(all(html, /<h([2-6])[\s>]/g)).toHaveLength(headings.length);
    const [, contents = ""] = html.split('class="toc"');
    const listed = linksOf(contents.slice(0, contents.indexOf("</nav>")));
    expect(listed).toEqual(
      headings.filter(([, level]) => Number(level) <= 3).map(([, , id]) => `#${id}`),
    );
    for (const [, , id, anchor] of headings) expect(anchor).toBe(id);
  });

  test("every code block of a guide can be copied", () => {
    expect(all(html, /(<pre)/g)).toHaveLength(all(html, /(data-copy)/g).length);
  });

  test("a guide loads only scripts, styles and pictures of its own build", async () => {
    const sources = [
      ...all(html, /\ssrc="([^"]*)"/g),
      ...all(html, /<link rel="(?:icon|stylesheet)" href="([^"]*)"/g),
    ];
    expect(sources.length).toBeGreaterThan(2);
    for (const source of sources) {
      expect(source).toMatch(/^\/assets\//);
      const asset = await env.ASSETS.fetch(`${ORIGIN}${source}`);
      expect(asset.status).toBe(200);
      expect(asset.headers.get("content-type")).toBe(TYPES[source.split(".").at(-1) ?? ""]);
    }
    const policy = response.headers.get("content-security-policy")?.split("; ") ?? [];
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        `script-src ${ORIGIN}/assets/`,
        `style-src ${ORIGIN}/assets/`,
        `font-src ${ORIGIN}/assets/`,
      ]),
    );
    expect(html).not.toMatch(/<script>|\son\w+=|style="/i);
  });
});

test("the guide of the architecture has a picture", () => {
  expect(pageAt("/docs/architecture").html).toMatch(
    /<img src="\/assets\/architecture-\w+\.svg" alt="[A-Z][^"]+"/,
  );
});

test("the names of repository files are no links in guides", () => {
  const { html } = pageAt("/docs/architecture");
  expect(html).toContain("<code>.github/CONTRIBUTING.md</code>");
});

test("a guide is the same with a token", async () => {
  const response = await new Client("aus_nobody").fetch("/docs/files");
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
  expect(none).toContain("Nothing has all of these words");
  expect(none).toContain("Search for “&lt;script&gt; xyzzy”");
  for (const target of [...html.matchAll(/<li><a href="([^"#]*)#([^"]*)"/g)])
    expect(idsOf(pageAt(target[1] ?? "").html)).toContain(target[2]);
});
