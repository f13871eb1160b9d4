/** The trace of a prediction that has ended, as one message of the queue of traces. */
import { spansOf } from "../../domain/traces/spans.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { pastFactsOf } from "./reads.ts";
import type { PredictionRecord } from "./record.ts";

/** Callers that wait for the end come first, then the row. */
const DELAY_MS = 50;

/** Never rejects: a trace that is lost is only a warning. */
export async function sendTrace({ TRACES }: Bindings, record: PredictionRecord): Promise<void> {
  const { spec, state } = record.life;
  if (!spec.trace) return;
  try {
    await scheduler.wait(DELAY_MS);
    await TRACES.send({ spans: spansOf(spec.trace, spec, state, pastFactsOf(record)) });
  } catch (error) {
    logger.warn("Trace not sent", { prediction_id: spec.id, trace_id: spec.trace.trace_id, error });
  }
}
