/** The cost of a run, which is computed once, when its prediction ends. */
import { z } from "zod";
import type { Finish } from "../../protocol/channel.ts";
import type { Metrics } from "../../protocol/event.ts";
import { amountText, type Cost, MAX_AMOUNT } from "../../protocol/money.ts";
import type { PredictionError } from "../../protocol/prediction.ts";
import type { Prices } from "../../protocol/prices.ts";
import { quantitiesOf } from "./quantities.ts";

/** The time that the account pays for, if the run has a price: milliseconds. */
export interface BillableTime {
  run_ms: number;
  setup_ms: number;
}

interface Unit {
  /** As responses have it. */
  type: string;
  unit: string;
  /** Stored quantities of a unit. */
  scale: number;
  /** The units that a price is for. */
  per: number;
}

const tokens = (type: string): Unit => ({ type, unit: "token", scale: 1, per: 1_000_000 });

/** The parts of a cost, by the names that are stored. */
const TYPES = {
  run: { type: "run", unit: "run", scale: 1, per: 1 },
  time: { type: "time", unit: "second", scale: 1_000, per: 3_600 },
  /** The time of a version with a price of its own. */
  own_time: { type: "time", unit: "second", scale: 1_000, per: 1 },
  setup: { type: "setup", unit: "second", scale: 1_000, per: 3_600 },
  input_tokens: tokens("input_tokens"),
  cached_tokens: tokens("cached_tokens"),
  output_tokens: tokens("output_tokens"),
  images: { type: "images", unit: "image", scale: 1, per: 1 },
  audio: { type: "audio", unit: "second", scale: 1_000, per: 1 },
} satisfies Record<string, Unit>;

/** A multiple of `scale` times `per` of all, so that sums are exact. */
const COMMON = 18_000_000n;

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
  { opened_at }: { opened_at: number },
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
export const ownTime = ({ ready_at }: { ready_at: number | null }, now: number): BillableTime => ({
  run_ms: ready_at === null ? 0 : Math.max(now - ready_at, 0),
  setup_ms: 0,
});

/** The prices of a run at its create. */
export interface Priced {
  price_per_hour: number | null;
  charges_setup: boolean;
  prices?: Prices;
}

interface Ended {
  error: Pick<PredictionError, "source"> | null;
  /** Null for lost runners, and where none has started. */
  billable: BillableTime | null;
  /** Null if the model has not begun, or its runner has not said how long it ran. */
  execution_seconds: number | null;
  metrics: Metrics | null;
  /** The most that the run may cost. Null or absent: no budget limits it. */
  reserved?: number | null;
}

/** Something to pay. Without a price, it is free. */
type Charge = [type: PartType, quantity: number, price: number | null | undefined];

/** Errors of the service cost nothing, and nothing costs more than what is reserved for it. */
export function costOf(
  priced: Priced,
  { error, billable, execution_seconds, metrics, reserved }: Ended,
): RunCost {
  if (error?.source === "internal" || billable === null) return { amount: 0, parts: [] };
  const { price_per_hour, charges_setup, prices = {} } = priced;
  const { per_second, per_million_input_tokens: input } = prices;
  const used = quantitiesOf(metrics);
  const hasBegun = execution_seconds !== null || billable.run_ms > 0;
  const charges: Charge[] = [
    ["run", hasBegun ? 1 : 0, prices.per_run],
    per_second === undefined
      ? ["time", billable.run_ms, price_per_hour]
      : ["own_time", billable.run_ms, per_second],
    ["setup", charges_setup ? billable.setup_ms : 0, price_per_hour],
    ["input_tokens", used.uncached, input],
    ["cached_tokens", used.cached, prices.per_million_cached_tokens ?? input],
    ["output_tokens", used.output, prices.per_million_output_tokens],
    ["images", used.images, prices.per_image],
    ["audio", used.audio_ms, prices.per_audio_second],
  ];
  return sumOf(charges, reserved ?? MAX_AMOUNT);
}

/**
 * Adds charges up exactly, and rounds the sum once. Each part has what it adds to the sum, so that the parts add up
 * to the amount.
 */
function sumOf(charges: Charge[], most: number): RunCost {
  let exact = 0n;
  let amount = 0;
  const parts = charges.flatMap(([type, quantity, price]): CostPart[] => {
    if (quantity === 0 || !price) return [];
    const { scale, per } = TYPES[type];
    exact += BigInt(quantity) * BigInt(price) * (COMMON / BigInt(scale * per));
    const before = amount;
    amount = Math.min(Number((exact + COMMON / 2n) / COMMON), most);
    return [[type, quantity, price, amount - before]];
  });
  return { amount, parts };
}

export const presentCost = ({ amount, parts }: RunCost, currency: string): Cost => ({
  amount: amountText(amount),
  currency,
  parts: parts.map(([name, quantity, price, amount]) => {
    const { type, unit, scale, per } = TYPES[name];
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
