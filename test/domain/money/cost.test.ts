/** The cost of a run: what is paid for, what is not, and what a runner's word counts. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  costOf,
  costParts,
  presentCost,
  type RunCost,
  reportedTime,
} from "../../../src/domain/money/cost.ts";
import { PredictionLife } from "../../../src/domain/predictions/life.ts";
import { type PredictionSpec, presentPrediction } from "../../../src/domain/predictions/state.ts";
import { type Billable, type Finish, finish } from "../../../src/protocol/channel.ts";
import { amountOf, MAX_AMOUNT } from "../../../src/protocol/money.ts";
import { NOW, SECRET, specWith } from "../predictions/samples.ts";

/** 1.80 an hour: 500,000 billionths a second. */
const PRICED = { price_per_hour: 1_800_000_000 };
const SECOND = 500_000;

/** A run that was handed out at NOW, has started 1 s later, and was ready after 5 s. */
function running(changes: Partial<PredictionSpec> = PRICED): PredictionLife {
  const life = PredictionLife.create(specWith(changes));
  life.openAttempt(SECRET, NOW);
  life.start(NOW + 1_000);
  life.markReady(4, NOW + 5_000);
  return life;
}

const billed = (run_seconds: number, setup_seconds = 0): Pick<Finish, "billable"> => ({
  billable: { run_seconds, setup_seconds },
});

const costOfLife = ({ state }: PredictionLife) => state.cost;
const end = NOW + 60_000;

describe("a run pays for", () => {
  const succeeded = { status: "succeeded", output: "value" } as const;

  test("its share of the container and the setup that it has caused", () => {
    const life = running();
    life.finish({ ...succeeded, execution_seconds: 9, ...billed(2.5, 4) }, end);
    expect(life.state.cost).toBe(6.5 * SECOND);
    expect(life.state.cost_parts).toEqual([
      ["time", 2_500, PRICED.price_per_hour, 2.5 * SECOND],
      ["setup", 4_000, PRICED.price_per_hour, 4 * SECOND],
    ]);
    expect(presentPrediction(life.spec, life.state).cost).toEqual({
      amount: "0.00325",
      currency: "USD",
      parts: [
        {
          type: "time",
          quantity: 2.5,
          unit: "second",
          price: "1.8",
          per: 3_600,
          amount: "0.00125",
        },
        { type: "setup", quantity: 4, unit: "second", price: "1.8", per: 3_600, amount: "0.002" },
      ],
    });
  });

  test("its share alone where the deployment pays for setups", () => {
    const life = running({ ...PRICED, charges_setup: false });
    life.finish({ ...succeeded, ...billed(2.5, 4) }, end);
    expect(life.state.cost).toBe(2.5 * SECOND);
    expect(life.state.cost_parts.map(([type]) => type)).toEqual(["time"]);
  });

  test("the time that the model ran, if its runner does not measure shares", () => {
    const life = running();
    life.finish({ ...succeeded, execution_seconds: 3 }, end);
    expect(life.state.cost).toBe(3 * SECOND);
  });

  test("its time until a cancel, whatever the runner says that it became", () => {
    for (const status of ["succeeded", "canceled"] as const) {
      const life = running();
      life.requestCancel(NOW + 10_000);
      life.finish({ status, output: "none", ...billed(5) }, end);
      expect(life.state).toMatchObject({ status: "canceled", cost: 5 * SECOND });
    }
  });

  test("its time and its setup when the model fails", () => {
    const life = running();
    const error = { source: "external", message: "boom" } as const;
    life.finish({ status: "failed", output: "none", error, ...billed(1, 4) }, end);
    expect(life.state.cost).toBe(5 * SECOND);
  });

  test("the time since it was ready, when the service ends it without its runner", () => {
    const late = running();
    late.fail("external", "The model did not finish within 30 s.", NOW + 35_000);
    expect(costOfLife(late)).toBe(30 * SECOND);
    const stubborn = running();
    stubborn.requestCancel(NOW + 10_000);
    stubborn.enforceCancel(NOW + 70_000);
    expect(costOfLife(stubborn)).toBe(65 * SECOND);
  });
});

describe("a run pays nothing", () => {
  test.each<[string, (life: PredictionLife) => void]>([
    ["for an error of the service", (life) => life.fail("internal", "No runner.", end)],
    [
      "for an error of its runner",
      (life) => {
        const error = { source: "internal", message: "The disk is full." } as const;
        life.finish({ status: "failed", output: "none", error, ...billed(9, 4) }, end);
      },
    ],
    [
      "for an error of its runner after a cancel",
      (life) => {
        life.requestCancel(NOW + 9_000);
        const error = { source: "internal", message: "The disk is full." } as const;
        life.finish({ status: "failed", output: "none", error, ...billed(9, 4) }, end);
      },
    ],
    ["if its runner is lost after output had started", (life) => life.lose(true, end)],
    [
      "if its runner is lost after a cancel",
      (life) => {
        life.requestCancel(NOW + 9_000);
        life.lose(true, end);
      },
    ],
    ["if its runner returns it after output had started", (life) => life.release(true, end)],
    [
      "for a cancel while it waits again after a lost attempt",
      (life) => {
        life.lose(false, NOW + 9_000);
        life.requestCancel(end);
      },
    ],
    [
      "for a start that the machine has failed",
      (life) => {
        life.requestCancel(NOW + 9_000);
        life.failStart(false, "The disk is full.", end);
      },
    ],
    [
      "for a container that was not ready in time",
      (life) => {
        life.lose(false, NOW + 9_000);
        life.openAttempt(SECRET, NOW + 10_000);
        life.start(NOW + 11_000);
        life.fail("external", "The container was not ready within 600 s.", end);
      },
    ],
  ])("%s", (_, finished) => {
    const life = running();
    finished(life);
    expect(life.state).toMatchObject({ cost: 0, cost_parts: [] });
  });

  test("on hardware without a price, and none of its setup", () => {
    const life = running({ price_per_hour: null });
    life.finish({ status: "succeeded", output: "none", ...billed(2, 4) }, end);
    expect(presentPrediction(life.spec, life.state).cost).toEqual({
      amount: "0",
      currency: "USD",
      parts: [],
    });
  });

  test("before its end: it has no cost", () => {
    const life = running();
    expect(presentPrediction(life.spec, life.state).cost).toBeNull();
  });
});

test("a retried run pays for its last attempt alone", () => {
  const life = running();
  life.lose(false, NOW + 9_000);
  life.openAttempt(SECRET, NOW + 50_000);
  life.start(NOW + 50_001);
  life.markReady(1, NOW + 51_000);
  life.finish({ status: "succeeded", output: "none", ...billed(3_600, 0) }, end);
  expect(life.state.cost).toBe(10 * SECOND);
});

describe("what a runner says", () => {
  const attempt = { opened_at: NOW };

  test("setup and run together take no longer than the runner had the job by the service's clock", () => {
    const most = { run_ms: 60_000, setup_ms: 0 };
    expect(reportedTime(billed(1e300, 1e300), attempt, end)).toEqual(most);
    expect(reportedTime({ execution_seconds: 1e9 }, attempt, end)).toEqual(most);
    expect(reportedTime(billed(50, 40), attempt, end)).toEqual({
      run_ms: 50_000,
      setup_ms: 10_000,
    });
    // A clock that has gone back.
    expect(reportedTime(billed(1, 1), attempt, NOW - 1)).toEqual({ run_ms: 0, setup_ms: 0 });
  });

  test.each([
    { run_seconds: -1, setup_seconds: 0 },
    { run_seconds: Number.NaN, setup_seconds: 0 },
    { run_seconds: Number.POSITIVE_INFINITY, setup_seconds: 0 },
    { run_seconds: 0 },
  ])("%o is no measure", (billable) => {
    expect(finish.safeParse({ status: "succeeded", output: "none", billable }).success).toBe(false);
  });
});

test("the parts of any cost add up to its amount, are stored as they are, and never leave the range of amounts", () => {
  const seconds = fc.double({ min: 0, max: 1e12, noNaN: true });
  const price = fc.option(fc.nat({ max: MAX_AMOUNT }));
  const billable: fc.Arbitrary<Billable> = fc.record({
    run_seconds: seconds,
    setup_seconds: seconds,
  });
  fc.assert(
    fc.property(
      billable,
      price,
      fc.boolean(),
      fc.nat(1e9),
      (said, price_per_hour, charges_setup, ms) => {
        const time = reportedTime({ billable: said }, { opened_at: 0 }, ms);
        expect(time.run_ms + time.setup_ms).toBeLessThanOrEqual(ms);
        const reserved = ms % 2 ? null : ms;
        const ended = {
          ...{ error: null, billable: time, execution_seconds: null, metrics: null, reserved },
        };
        const cost: RunCost = costOf({ price_per_hour, charges_setup }, ended);
        expect(cost.amount).toBeLessThanOrEqual(reserved ?? MAX_AMOUNT);
        expect(costParts.parse(JSON.parse(JSON.stringify(cost.parts)))).toEqual(cost.parts);
        const { amount, parts } = presentCost(cost, "USD");
        const sum = parts.reduce((sum, part) => sum + (amountOf(part.amount) ?? Number.NaN), 0);
        expect(sum).toBe(amountOf(amount));
      },
    ),
  );
});
