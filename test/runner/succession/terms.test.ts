import { expect, test } from "vitest";
import { differences, termsOf } from "../../../runner/src/succession/terms.ts";

test("which settings differ is told by their names", () => {
  const one = { name: "box", cache_gb: 20, runtimes: new Map([["l40s", "runsc"]]) };
  const other = { ...one, cache_gb: 30, pretend_gpus: 8 };
  expect(differences(termsOf(one), termsOf({ ...one }))).toEqual([]);
  expect(differences(termsOf(one), termsOf(other))).toEqual(["cache_gb", "pretend_gpus"]);
  const runtimes = new Map([["l40s", "kata"]]);
  expect(differences(termsOf(one), termsOf({ ...one, runtimes }))).toEqual(["runtimes"]);
});

test("of another process's terms that are no settings nothing can be told", () => {
  for (const text of ["", "other", "[1]", "null"]) expect(differences(text, "x")).toEqual([]);
});
