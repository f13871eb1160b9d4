/** The measures of a prediction that has ended (domain/metrics/measures.ts). */
import { BUCKETS_MS, type Measures, type TimeName } from "../metrics/measures.ts";
import { quantitiesOf } from "../money/quantities.ts";
import type { PredictionSpec, PredictionState } from "./state.ts";

/** No time is longer: the sum of a billion of them is a safe integer. */
const MAX_MS = 8_000_000;

/** Returns the measures of one time. */
function timed(name: TimeName, ms: number): Measures {
  const known = Math.min(Math.max(0, Math.round(ms)), MAX_MS);
  const bucket = BUCKETS_MS.findIndex((most) => known <= most);
  return {
    [`${name}:sum`]: known,
    [`${name}:${bucket === -1 ? BUCKETS_MS.length : bucket}`]: 1,
  };
}

/** Returns the measures of a prediction that has ended. */
export function measuresOf(
  { created_at }: Pick<PredictionSpec, "created_at">,
  state: PredictionState,
): Measures {
  const { status, error, metrics, cost, lost_count } = state;
  const { setup_seconds, execution_seconds, first_output_at } = state;
  const { uncached, cached, output } = quantitiesOf(metrics);
  const counts = {
    attempts_lost: lost_count,
    input_tokens: uncached + cached,
    cached_tokens: cached,
    output_tokens: output,
    cost: cost ?? 0,
  };
  return {
    [error ? `${status}:${error.source}` : status]: 1,
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
    ...timed("queue", queueMs(state)),
    ...(setup_seconds && timed("setup", setup_seconds * 1_000)),
    ...(execution_seconds !== null && timed("run", execution_seconds * 1_000)),
    ...(first_output_at !== null && timed("first_output", first_output_at - created_at)),
    ...timed("total", (state.completed_at ?? state.updated_at) - created_at),
  };
}

/**
 * Returns the time in the queue; of the last wait, if runners were lost. A runner has the job since its attempt
 * was opened.
 */
export function queueMs({ attempt, waiting_since, updated_at }: PredictionState): number {
  const until = attempt?.started_at == null ? updated_at : attempt.opened_at;
  return Math.max(0, until - waiting_since);
}
