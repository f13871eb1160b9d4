/** Titles of pages: the same in the browser's tab as on the page, and unique. */
import { expect, it } from "vitest";
import { PAGES } from "../../browser/support/pages.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { textOf } from "../support/page-text.ts";
import type { Visitor } from "../support/visitor.ts";

/** Pages of the dashboard that exist once. */
const ROUTES = Object.keys(PAGES).filter(
  (path) => !path.includes(":") && !path.startsWith("/docs"),
);

async function namesOf(visitor: Visitor, path: string) {
  const { html, status } = await visitor.look(path);
  const [, title = ""] = /<title>(.*?) · Auspex<\/title>/.exec(html) ?? [];
  const headings = [...html.matchAll(/<h1[^>]*>(.*?)<\/h1>/gs)];
  return { status, title, headings: headings.map(([, text = ""]) => textOf(text).trim()) };
}

it("a page's title is its heading, and no two are alike", async () => {
  const { visitor } = await newOperator();
  const pages = await Promise.all(
    ROUTES.map(async (path) => ({ path, ...(await namesOf(visitor, path)) })),
  );
  const shown = pages.filter(({ status }) => status === 200);
  expect(shown.length).toBeGreaterThan(15);
  for (const { path, title, headings } of shown) expect([path, headings]).toEqual([path, [title]]);
  const titles = shown.map(({ title }) => title);
  expect(titles).toEqual([...new Set(titles)]);
});
