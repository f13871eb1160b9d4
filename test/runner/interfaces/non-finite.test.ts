import { expect, test } from "vitest";
import { nonFiniteNumbers } from "../../../runner/src/interfaces/container-json.ts";

test("the first number that JSON does not have is named with its path", () => {
  expect(nonFiniteNumbers('{"output": {"a": ["NaN", -Infinity, NaN]}}')).toEqual({
    text: '{"output": {"a": ["NaN", null, null]}}',
    number: "-Infinity",
    path: "output.a[1]",
  });
});

test.each(['{"output": "NaN \\" NaN"}', '{"output": NaN', "garbage", "{}"])(
  "the text %s has no number outside JSON, or is otherwise no JSON",
  (text) => {
    expect(nonFiniteNumbers(text)).toBeUndefined();
  },
);
