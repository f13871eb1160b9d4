/** Names of settings: wrangler.toml, the guide to limits and the Worker have the same. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const namesIn = (path: string, pattern: RegExp): string[] => {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  return [...text.matchAll(pattern)].map(([, name = ""]) => name);
};

const read = ["src/env.ts", "src/env-alerts.ts", "src/env-oidc.ts", "src/env-traces.ts"].flatMap(
  (path) => namesIn(path, /^ {2}([A-Z][A-Z_]+): /gm),
);

test.each([
  ["wrangler.toml", /^([A-Z][A-Z_]+) = /gm],
  ["src/dashboard/guides/limits.md", /\| `([A-Z][A-Z_]+)`/g],
])("the Worker reads every setting that %s names", (path, pattern) => {
  const named = namesIn(path, pattern);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !read.includes(name))).toEqual([]);
});
