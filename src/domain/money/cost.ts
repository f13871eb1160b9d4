/** The cost of a run, which is computed once, when its prediction ends. */
import { z } from "zod";
import type { Finish } from "../../protocol/channel.ts";
import { amountText, type Cost, MAX_AMOUNT } from "../../protocol/money.ts";
import type { PredictionError } from "../../protocol/prediction.ts";
import type { Attempt } from "../predictions/attempts.ts";
import { priceOf } from "./price.ts";

/** The time that the account pays for, if the run has a price: milliseconds. */
export interface BillableTime {
  run_ms: number;
  setup_ms: number;
}

/** `scale`: stored quantities per unit. `per`: units that a price is for. */
const TYPES = {
  run: { unit: "second", scale: 1_000, per: 3_600 },
  setup: { unit: "second", scale: 1_000, per: 3_600 },
} as const satisfies Record<
  string,
  Pick<Cost["parts"][number], "unit" | "per"> & { scale: number }
>;

type PartType = keyof typeof TYPES;

/** Stored with each prediction, so it is short: type, quantity, price, amount. Prices and amounts are billionths. */
const costPart = z.tuple([
  z.enum(Object.keys(TYPES) as [PartType, ...PartType[]]),
  z.int(),
  z.int(),
  z.int(),
]);
export type CostPart = z.infer<typeof costPart>;

export const costParts = z.array(costPart);

export interface RunCost {
  amount: number;
  parts: readonly CostPart[];
}

/**
 * Returns what a runner says about the time of its job, as far as the service's own clock confirms it: setup and
 * run took no longer than the runner had the job. A runner that does not say it is paid for the time that the
 * model ran.
 */
export function reportedTime(
  { billable, execution_seconds = 0 }: Pick<Finish, "billable" | "execution_seconds">,
  { opened_at }: Pick<Attempt, "opened_at">,
  now: number,
): BillableTime {
  const { run_seconds, setup_seconds } = billable ?? {
    run_seconds: execution_seconds,
    setup_seconds: 0,
  };
  const most = Math.max(now - opened_at, 0);
  const run_ms = Math.min(Math.round(run_seconds * 1_000), most);
  return { run_ms, setup_ms: Math.min(Math.round(setup_seconds * 1_000), most - run_ms) };
}

/** Returns the time of a run that the service ends without its runner: since the container was ready. */
export const ownTime = ({ ready_at }: Pick<Attempt, "ready_at">, now: number): BillableTime => ({
  run_ms: ready_at === null ? 0 : Math.max(now - ready_at, 0),
  setup_ms: 0,
});

interface Priced {
  price_per_hour: number | null;
  charges_setup: boolean;
}

interface Ended {
  error: Pick<PredictionError, "source"> | null;
  /** Null for lost runners, and where none has started. */
  billable: BillableTime | null;
}

/** Errors of the service cost nothing. */
export function costOf(
  { price_per_hour, charges_setup }: Priced,
  { error, billable }: Ended,
): RunCost {
  if (error?.source === "internal" || billable === null) return { amount: 0, parts: [] };
  const parts = [
    ...partOf("run", billable.run_ms, price_per_hour),
    ...(charges_setup ? partOf("setup", billable.setup_ms, price_per_hour) : []),
  ];
  const amount = parts.reduce((sum, [, , , amount]) => sum + amount, 0);
  return { amount, parts };
}

/** The most that a part costs, so that the sum of all is an amount. */
const MOST = Math.floor(MAX_AMOUNT / Object.keys(TYPES).length);

/** @returns nothing for what is free */
function partOf(type: PartType, quantity: number, price: number | null): CostPart[] {
  if (quantity === 0 || !price) return [];
  const { scale, per } = TYPES[type];
  return [[type, quantity, price, Math.min(priceOf(quantity, price, scale * per), MOST)]];
}

export const presentCost = ({ amount, parts }: RunCost, currency: string): Cost => ({
  amount: amountText(amount),
  currency,
  parts: parts.map(([type, quantity, price, amount]) => {
    const { unit, scale, per } = TYPES[type];
    return {
      type,
      quantity: quantity / scale,
      unit,
      price: amountText(price),
      per,
      amount: amountText(amount),
    };
  }),
});
