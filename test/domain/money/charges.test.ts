/** The cost of a run by the prices of its version. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { costOf, type Priced, presentCost } from "../../../src/domain/money/cost.ts";
import { quantitiesOf } from "../../../src/domain/money/quantities.ts";
import { PredictionLife } from "../../../src/domain/predictions/life.ts";
import type { Metrics } from "../../../src/protocol/event.ts";
import { amountOf, MAX_AMOUNT } from "../../../src/protocol/money.ts";
import type { Prices } from "../../../src/protocol/prices.ts";
import { sized } from "../../support/sized.ts";
import { NOW, SECRET, specWith } from "../predictions/samples.ts";

const UNIT = 1_000_000_000;

const ended = (run_ms: number, metrics: Metrics | null = null, setup_ms = 0) => ({
  error: null,
  billable: { run_ms, setup_ms },
  execution_seconds: run_ms / 1_000,
  metrics,
});

const pricedBy = (prices: Prices, price_per_hour: number | null = null): Priced => ({
  ...{ prices, price_per_hour },
  charges_setup: true,
});

const partsOf = (priced: Priced, run: ReturnType<typeof ended>) =>
  presentCost(costOf(priced, run), "USD").parts.map(({ type, quantity, amount }) => [
    type,
    quantity,
    amount,
  ]);

describe("a run with prices pays for", () => {
  test("tokens by the million, and cached ones once and at their own price", () => {
    const metrics = { input_tokens: 1_000, cached_tokens: 400, output_tokens: 10 };
    const prices = {
      per_million_input_tokens: 2 * UNIT,
      per_million_cached_tokens: UNIT / 2,
      per_million_output_tokens: 8 * UNIT,
    };
    expect(partsOf(pricedBy(prices), ended(1, metrics))).toEqual([
      ["input_tokens", 600, "0.0012"],
      ["cached_tokens", 400, "0.0002"],
      ["output_tokens", 10, "0.00008"],
    ]);
    const { per_million_cached_tokens: _, ...others } = prices;
    expect(partsOf(pricedBy(others), ended(1, metrics)).slice(0, 2)).toEqual([
      ["input_tokens", 600, "0.0012"],
      ["cached_tokens", 400, "0.0008"],
    ]);
  });

  test("its time at the version's price in place of the hardware's, and its setup at the hardware's", () => {
    const perHour = 3_600 * UNIT;
    const run = ended(2_500, null, 1_000);
    expect(partsOf(pricedBy({ per_second: 2 * UNIT }, perHour), run)).toEqual([
      ["time", 2.5, "5"],
      ["setup", 1, "1"],
    ]);
    expect(partsOf(pricedBy({ per_second: 0 }, perHour), run)).toEqual([["setup", 1, "1"]]);
    expect(partsOf(pricedBy({ per_run: UNIT }, perHour), run)).toEqual([
      ["run", 1, "1"],
      ["time", 2.5, "2.5"],
      ["setup", 1, "1"],
    ]);
  });

  test("images and seconds of audio", () => {
    const prices = { per_image: UNIT / 100, per_audio_second: UNIT / 1_000 };
    expect(partsOf(pricedBy(prices), ended(0, { images: 4, audio_seconds: 61.5 }))).toEqual([
      ["images", 4, "0.04"],
      ["audio", 61.5, "0.0615"],
    ]);
  });

  test("itself once its model has begun, also if it was canceled then, and not before", () => {
    const costWhen = (end: (life: PredictionLife) => void) => {
      const life = PredictionLife.create(specWith({ prices: { per_run: 5 } }));
      life.openAttempt(SECRET, NOW);
      life.start(NOW);
      end(life);
      return life.state.cost;
    };
    const finish = { status: "succeeded", output: "none" } as const;
    expect(costWhen((life) => life.finish({ ...finish, execution_seconds: 0 }, NOW))).toBe(5);
    const canceled = (life: PredictionLife) => {
      life.markReady(1, NOW);
      life.requestCancel(NOW + 1);
      life.finish({ ...finish, status: "canceled", execution_seconds: 1 }, NOW + 2);
    };
    expect(costWhen(canceled)).toBe(5);
    const error = { source: "external", message: "no" } as const;
    expect(costWhen((life) => life.finish({ ...finish, status: "failed", error }, NOW))).toBe(0);
    expect(costWhen((life) => life.fail("internal", "no", NOW))).toBe(0);
  });
});

describe("the metrics of a run", () => {
  test("models that name their counts as on Replicate are counted, too", () => {
    const metrics = { input_token_count: 3, output_token_count: 4, image_count: 5 };
    expect(quantitiesOf(metrics)).toEqual({
      ...{ uncached: 3, cached: 0, output: 4, images: 5, audio_ms: 0 },
    });
  });

  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
    "a count of %d does not count",
    (count) => {
      const metrics = { input_tokens: count, cached_tokens: count, output_tokens: count };
      expect(quantitiesOf({ ...metrics, images: count, audio_seconds: -1 })).toEqual({
        ...{ uncached: 0, cached: 0, output: 0, images: 0, audio_ms: 0 },
      });
    },
  );

  test("more cached tokens than input tokens are as many as those", () => {
    expect(quantitiesOf({ input_tokens: 5, cached_tokens: 9 })).toMatchObject({
      uncached: 0,
      cached: 5,
    });
    expect(quantitiesOf({ cached_tokens: 9 })).toMatchObject({ uncached: 0, cached: 0 });
  });
});

test("a cost is never negative or beyond an amount, is the sum of its parts, and grows with each quantity", () => {
  const price = fc.option(fc.oneof(fc.nat(1_000), fc.nat({ max: MAX_AMOUNT })), {
    nil: undefined,
  });
  const quantity = fc.oneof(fc.nat(1_000), fc.nat({ max: 400_000_000 }));
  const used = fc.record({
    run_ms: quantity,
    setup_ms: quantity,
    uncached: quantity,
    cached: quantity,
    output: quantity,
    images: quantity,
    audio_ms: fc.nat(1e9),
  });
  type Used = typeof used extends fc.Arbitrary<infer Value> ? Value : never;
  const costWith = (priced: Priced, { run_ms, setup_ms, ...counts }: Used) =>
    costOf(
      priced,
      ended(
        run_ms,
        {
          input_tokens: counts.uncached + counts.cached,
          cached_tokens: counts.cached,
          output_tokens: counts.output,
          images: counts.images,
          audio_seconds: counts.audio_ms / 1_000,
        },
        setup_ms,
      ),
    );
  const prices = fc.record({
    per_run: price,
    per_second: price,
    per_million_input_tokens: price,
    per_million_cached_tokens: price,
    per_million_output_tokens: price,
    per_image: price,
    per_audio_second: price,
  });
  fc.assert(
    fc.property(
      prices,
      price,
      used,
      fc.constantFrom<keyof Used>(
        ...(["run_ms", "setup_ms", "uncached", "cached", "output", "images", "audio_ms"] as const),
      ),
      fc.nat(1_000_000),
      (by, perHour, use, more, by_much) => {
        const priced = pricedBy(by, perHour ?? null);
        const cost = costWith(priced, use);
        expect(cost.amount).toBeGreaterThanOrEqual(0);
        expect(cost.amount).toBeLessThanOrEqual(MAX_AMOUNT);
        const { amount, parts } = presentCost(cost, "USD");
        const amounts = parts.map((part) => amountOf(part.amount) ?? Number.NaN);
        expect(amounts.every((one) => one >= 0)).toBe(true);
        expect(amounts.reduce((sum, one) => sum + one, 0)).toBe(amountOf(amount));
        const larger = costWith(priced, { ...use, [more]: use[more] + by_much });
        expect(larger.amount).toBeGreaterThanOrEqual(cost.amount);
      },
    ),
    { numRuns: sized(500, 5_000) },
  );
});
