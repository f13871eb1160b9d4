/** The quantities of a run. Its metrics come from a container, which may say anything. */
import { expect, test } from "vitest";
import { quantitiesIn } from "../../../src/domain/money/quantities.ts";

const of = (metrics: object | null) => quantitiesIn(metrics && JSON.stringify(metrics));

const NONE = { uncached: 0, cached: 0, output: 0, images: 0, audio_ms: 0 };

test("quantities are those of a run's metrics, under our names or those of models for Replicate", () => {
  const ours = { input_tokens: 12, cached_tokens: 5, output_tokens: 180, images: 2, else: 7 };
  expect(of(ours)).toEqual({ ...NONE, uncached: 7, cached: 5, output: 180, images: 2 });
  const theirs = { input_token_count: 3, output_token_count: 4, image_count: 1 };
  expect(of(theirs)).toEqual({ ...NONE, uncached: 3, output: 4, images: 1 });
  expect(of(null)).toEqual(NONE);
});

test.each([1e308, -1, 0.5, 2 ** 53, 1_000_000_001])(
  "the count %s of a metric is ignored",
  (value) => {
    const all = { input_tokens: value, output_tokens: value, cached_tokens: value, images: value };
    expect(of(all)).toEqual(NONE);
  },
);

test("tokens from a cache are at most the input tokens", () => {
  expect(of({ input_tokens: 10, cached_tokens: 11 })).toMatchObject({ uncached: 0, cached: 10 });
});

test("quantities are read from the text of any metrics", () => {
  for (const text of ['{"__proto__": {"input_tokens": 5}}', '{"input_tokens": "5"}', "[]", "null"])
    expect(quantitiesIn(text)).toEqual(NONE);
  expect(quantitiesIn('{"__proto__": 5, "input_tokens": 5}')).toMatchObject({ uncached: 5 });
});
