/** Which name was probably meant. */
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
])("%s: %s", (typed, meant) => {
  expect(nearest(typed, NAMES)).toBe(meant);
});

test.each(["prompt", "x", "", "tokens"])("%s: none", (typed) => {
  expect(nearest(typed, NAMES)).toBeUndefined();
});
