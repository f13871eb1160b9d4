import { expect, test } from "vitest";
import { pairs } from "../../src/dev/house/pairs.ts";
import { readSources } from "../../src/dev/house/words.ts";

test("no two folders of src and runner/src import each other", () => {
  const code = readSources("src", "runner").filter(({ path }) => path.includes("src/"));
  expect(pairs(code)).toEqual([]);
});

test("two folders that import each other are found", () => {
  const source = (path: string, ...imports: string[]) => ({ path, lines: [], imports });
  const code = [source("src/a/one.ts", "src/b/two.ts"), source("src/b/three.ts", "src/a/one.ts")];
  expect(pairs(code)).toEqual([["src/a", "src/b"]]);
});
