/** The estimate of a run of a model, before it is run. */
import type { Isolation } from "../../protocol/model.ts";

export interface RunEstimate {
  /**
   * `warm`: a container is ready and has room. `cold`: none has, and one can be started. `busy`: none can be
   * started now, either. `away`: no runner of its hardware takes work. `unknown`: its pool did not say.
   */
  state: "warm" | "busy" | "cold" | "away" | "unknown";
  /** How long a container takes until it is ready; null: not measured. */
  setup_seconds: number | null;
  /** How long a run takes in a container; null: not measured. */
  run_seconds: number | null;
  /** The price of such a run, in billionths of the currency unit; null: not measured, or not known without the tokens or images of a run. */
  run_price: number | null;
}

/** The pool's report on the containers that would take the run, which are those with the same key. */
export interface PoolRunEstimate {
  /** Whether a container is ready and has room, on a runner that takes work. */
  isWarm: boolean;
  /** Whether a runner that takes work has room for one more container, perhaps in place of an idle one. */
  hasRoom: boolean;
  /** Whether a runner takes work of the hardware. */
  isServed: boolean;
  /** How long a container takes to be ready, and a run in it, as measured lately. */
  setup_ms: number | null;
  run_ms: number | null;
}

/** @param report undefined: the pool did not answer @param priceOf the price of a run of so many milliseconds, if that is known */
export function runEstimateOf(
  report: PoolRunEstimate | undefined,
  isolation: Isolation,
  priceOf: (ms: number) => number | null,
): RunEstimate {
  const run = report?.run_ms ?? null;
  return {
    state: report === undefined ? "unknown" : stateOf(report, isolation),
    setup_seconds: secondsOf(report?.setup_ms ?? null),
    run_seconds: secondsOf(run),
    run_price: run === null ? null : priceOf(run),
  };
}

function stateOf(
  { isWarm, hasRoom, isServed }: PoolRunEstimate,
  isolation: Isolation,
): RunEstimate["state"] {
  if (!isServed) return "away";
  // A run with a container of its own always waits for it.
  if (isWarm && isolation !== "prediction") return "warm";
  return hasRoom ? "cold" : "busy";
}

const secondsOf = (ms: number | null) => (ms === null ? null : ms / 1_000);
