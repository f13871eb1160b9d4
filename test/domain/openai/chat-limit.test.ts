/** The maximum length of an answer, under each of its parameter names. */
import { expect, test } from "vitest";
import { limitOf } from "../../../src/domain/openai/translation.ts";

test.each([
  [{ max_tokens: 5 }, 5],
  [{ max_completion_tokens: 6, max_tokens: 5 }, 6],
  [{ max_completion_tokens: null, max_tokens: 5 }, 5],
  [{ max_output_tokens: 7 }, 7],
  [{}, undefined],
  [{ max_tokens: 0 }, undefined],
  [{ max_tokens: -1 }, undefined],
  [{ max_tokens: "5" }, undefined],
  [{ max_tokens: null }, undefined],
])("the limit of %j is %j", (request, limit) => {
  expect(limitOf(request)).toBe(limit);
});
