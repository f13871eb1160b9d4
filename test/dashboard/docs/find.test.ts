/** The search in the documentation. */
import { expect, test } from "vitest";
import { findPassages } from "../../../src/dashboard/docs/search/find.ts";
import type { Passage } from "../../../src/protocol/assets.ts";

const passage = (title: string, text: string): Passage => ({
  path: "/docs/x",
  page: "X",
  id: title,
  title,
  text,
});
const PASSAGES = [
  passage("Files", "An upload is kept for a day. Uploads have parts."),
  passage("Uploads", "Large files go in parts."),
  passage("Webhooks", "What is posted, and when."),
];
const titles = (query: string) => findPassages(PASSAGES, query).map(({ title }) => title);

test("a passage is found if it has words that begin with all searched ones, in any case", () => {
  expect(titles("PARTS upl")).toEqual(["Uploads", "Files"]);
  expect(titles("parts day")).toEqual(["Files"]);
  expect(titles("parts nothing")).toEqual([]);
});

test("a title counts more than the text", () => {
  expect(titles("files")).toEqual(["Files", "Uploads"]);
});

test("an empty query finds nothing, and pattern characters are plain text", () => {
  expect(titles("  ")).toEqual([]);
  expect(titles("(.*)")).toEqual([]);
});

test("the excerpt has whole words around the found word", () => {
  const long = passage("Long", `${"before ".repeat(40)}needle ${"after ".repeat(40)}`.trim());
  const [found] = findPassages([long], "needle");
  expect(found?.excerpt).toMatch(/^… (?:before )+needle (?:after ?)+ …$/);
  expect(found?.excerpt.length).toBeLessThan(230);
});

test("a long query is cut", () => {
  expect(findPassages(PASSAGES, `parts ${" ".repeat(200)}nothing`).length).toBe(2);
});
