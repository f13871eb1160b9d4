/** Errors and usage of OpenAI-compatible servers, as the runner reads them. */
import { expect, test } from "vitest";
import { parseExact } from "../../../src/lib/exact-json.ts";
import { nonFiniteNumbers } from "../../../src/run/bounded-json.ts";
import { parseFailure } from "../../../src/run/openai/error.ts";
import { JoinedCompletions } from "../../../src/run/openai/prompts.ts";

test("an error with exact numbers has no number mark in any of its texts", () => {
  const fields = '"type":"a","param":1.0,"code":18446744073709551615';
  const told = [
    `{"error":{"message":18446744073709551615,${fields}}}`,
    `{"detail":[{"loc":["body",1.0,18446744073709551615],"msg":"no"}]}`,
  ];
  const [first, second] = told.map((text) => parseFailure(parseExact(text), 400).error);
  expect(first).toEqual({
    message: "18446744073709551615",
    type: "a",
    param: "1.0",
    code: "18446744073709551615",
  });
  expect(second?.message).toBe("body.1.0.18446744073709551615: no");
});

test("the latest usage of each prompt counts once", () => {
  const joined = new JoinedCompletions(1);
  const usage = (prompt: number, tokens: number) =>
    joined.numbered({ usage: { prompt_tokens: 1, completion_tokens: tokens } }, prompt).usage;
  usage(0, 1);
  usage(1, 5);
  expect(usage(0, 3)).toEqual({ prompt_tokens: 2, completion_tokens: 8, total_tokens: 0 });
});

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
