/** The trace of a prediction that has ended, as one message of the queue of traces, and those of its webhooks. */
import { deliverySpan, spansOf } from "../../domain/predictions/spans.ts";
import type { PlannedDelivery } from "../../domain/webhooks/outbox.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { Span } from "../../protocol/traces.ts";
import type { Piece } from "../stubs/content.ts";
import { pastFactsOf } from "./reads.ts";
import type { PredictionRecord } from "./record.ts";

/** Callers that wait for the end come first, then the row. */
const DELAY_MS = 50;

export async function sendTrace(env: Bindings, record: PredictionRecord): Promise<void> {
  const { spec, state } = record.life;
  const { trace } = spec;
  if (!trace) return;
  await scheduler.wait(DELAY_MS);
  await send(env, record, () => {
    const content = spec.trace_content && {
      "auspex.input": beginningOf([record.input()]),
      "auspex.output": beginningOf(record.wholeOutput()),
    };
    return spansOf(trace, spec, state, pastFactsOf(record), content);
  });
}

/** A message of the queue has 128 KB at most. */
const CONTENT_CHARS = 8_000;

/** Returns the first characters of a JSON text. A part that is stored elsewhere is left out. */
function beginningOf(pieces: Iterable<Piece>): string {
  let text = "";
  for (const piece of pieces) {
    text += typeof piece === "string" ? piece : "…";
    if (text.length >= CONTENT_CHARS) break;
  }
  return text.slice(0, CONTENT_CHARS);
}

/** Sends the span of a delivery that has ended. A stream has too many deliveries of the event `output`. */
export async function sendDelivery(
  env: Bindings,
  record: PredictionRecord,
  { event, delivery }: PlannedDelivery,
): Promise<void> {
  const { spec } = record.life;
  const { trace } = spec;
  if (!trace || event.event === "output" || delivery.state === "pending") return;
  await send(env, record, () => [deliverySpan(trace, spec, event, delivery, Date.now())]);
}

/** Never rejects: a trace that is lost is only a warning. */
async function send(
  { TRACES }: Bindings,
  { life: { spec } }: PredictionRecord,
  make: () => Span[],
): Promise<void> {
  try {
    await TRACES.send({ spans: make() });
  } catch (error) {
    const trace_id = spec.trace?.trace_id;
    logger.warn("Trace not sent", { prediction_id: spec.id, trace_id, error });
  }
}
