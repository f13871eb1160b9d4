import { expect, test } from "vitest";
import { shownLabels } from "../../../src/domain/images/shown-labels.ts";

test("labels are shown by name, and Cog's OpenAPI documents without their text", () => {
  const { labels, more } = shownLabels({
    "run.cog.openapi_schema": "{}",
    "org.cogmodel.openapi_schema": "{}",
    b: "two",
    a: "one",
  });
  expect(more).toBe(0);
  expect(labels.map(({ name, value, isOpenapi }) => [name, value, isOpenapi])).toEqual([
    ["a", "one", false],
    ["b", "two", false],
    ["org.cogmodel.openapi_schema", "", true],
    ["run.cog.openapi_schema", "", true],
  ]);
});

test("at most 100 labels are shown, 200 characters of a name and 65,536 of all values", () => {
  const many = Object.fromEntries(
    Array.from({ length: 250 }, (_, n) => [`${1000 + n}${"x".repeat(300)}`, "v".repeat(1_000)]),
  );
  const { labels, more } = shownLabels(many);
  expect([labels.length, more]).toEqual([100, 150]);
  expect(labels.every(({ name, length }) => name.length === 200 && length === 1_000)).toBe(true);
  expect(labels.reduce((sum, { value }) => sum + value.length, 0)).toBe(65_536);
  expect(labels[0]?.value).toHaveLength(1_000);
  expect(labels.at(-1)?.value).toBe("");
});
