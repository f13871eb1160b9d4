/** The cost of a run, which is computed once, when its prediction ends. */
import type { PredictionSpec, PredictionState } from "../predictions/state.ts";
import { timePrice } from "./price.ts";

type Ended = Pick<PredictionState, "status" | "error" | "execution_seconds">;

/**
 * Returns what the run costs its account, in billionths of the currency unit. Errors of the service and lost
 * runners cost nothing.
 */
export function costOf(
  { price_per_hour }: Pick<PredictionSpec, "price_per_hour">,
  { status, error, execution_seconds }: Ended,
): number {
  const isFree = status === "failed" && error?.source === "internal";
  return isFree ? 0 : timePrice((execution_seconds ?? 0) * 1_000, price_per_hour ?? 0);
}
