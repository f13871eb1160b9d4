/** The counts of a run. Its metrics come from a container, which may say anything. */
import { expect, test } from "vitest";
import { countsIn } from "../../../src/domain/money/counts.ts";

const countsOf = (metrics: object | null) => countsIn(metrics && JSON.stringify(metrics));

const NONE = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, images: 0 };

test("counts are those of a run's metrics, under our names or those of models for Replicate", () => {
  expect(
    countsOf({ input_tokens: 12, cached_tokens: 5, output_tokens: 180, images: 2, else: 7 }),
  ).toEqual({ input_tokens: 12, output_tokens: 180, cached_tokens: 5, images: 2 });
  expect(countsOf({ input_token_count: 3, output_token_count: 4, image_count: 1 })).toEqual({
    ...{ input_tokens: 3, output_tokens: 4, cached_tokens: 0, images: 1 },
  });
  expect(countsOf(null)).toEqual(NONE);
});

test.each([1e308, -1, 0.5, 2 ** 53, 1_000_000_001])(
  "the count %s of a metric is ignored",
  (value) => {
    const all = { input_tokens: value, output_tokens: value, cached_tokens: value, images: value };
    expect(countsOf(all)).toEqual(NONE);
  },
);

test("tokens from a cache are at most the input tokens", () => {
  expect(countsOf({ input_tokens: 10, cached_tokens: 11 }).cached_tokens).toBe(10);
});

test("counts are read from the text of any metrics", () => {
  for (const text of ['{"__proto__": {"input_tokens": 5}}', '{"input_tokens": "5"}', "[]", "null"])
    expect(countsIn(text)).toEqual(NONE);
  expect(countsIn('{"__proto__": 5, "input_tokens": 5}')).toMatchObject({ input_tokens: 5 });
});
