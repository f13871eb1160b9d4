/** The name that was probably meant by a mistyped one. */
import { expect, test } from "vitest";
import { nearest } from "../../../src/cli/run/input.ts";

const NAMES = ["name", "times", "temperature", "max_tokens", "n"];

test.each([
  ["nam", "name"],
  ["Name", "name"],
  ["anme", "name"],
  ["tmies", "times"],
  ["temprature", "temperature"],
  ["max-token", "max_tokens"],
])("the typed name %s is taken for %s", (typed, meant) => {
  expect(nearest(typed, NAMES)).toBe(meant);
});

test.each(["prompt", "x", "", "tokens"])("the typed name %s is close to no name", (typed) => {
  expect(nearest(typed, NAMES)).toBeUndefined();
});
