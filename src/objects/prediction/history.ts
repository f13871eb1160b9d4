/** What the dashboard shows of a prediction, read from its whole log. */
import { MAX_CHARS } from "../../domain/predictions/display-limits.ts";
import { LogTail } from "../../domain/predictions/log-tail.ts";
import { NO_MOMENTS, withEvent } from "../../domain/predictions/timeline.ts";
import type { StoredValue } from "../../protocol/event.ts";
import type { PredictionRecord } from "./record.ts";
import type { History } from "./rpc-types.ts";

export function historyOf(record: PredictionRecord): History {
  const { life, log } = record;
  const { state, spec } = life;
  const tail = new LogTail();
  const values: string[] = [];
  let moments = NO_MOMENTS;
  let setup: History["setup"] = null;
  let chars = 0;
  let omitted = 0;
  let first: StoredValue | null = null;
  for (const { at, attempt, events } of log.rows()) {
    for (const logEvent of events) {
      moments = withEvent(moments, logEvent, at);
      // A new attempt's container is set up from the beginning.
      if (logEvent.event === "status") setup = null;
      if (logEvent.event === "logs") tail.add(logEvent.data);
      if (logEvent.event === "setup") {
        const { logs = "", ...progress } = logEvent.data;
        tail.add(logs);
        setup = progress.phase === "ready" ? null : progress;
      }
      if (attempt !== life.outputAttempt) continue;
      if (logEvent.event === "stored") {
        if (values.length + omitted === 0) first = logEvent.data;
        omitted += 1;
      }
      if (logEvent.event !== "output") continue;
      const json = JSON.stringify(logEvent.data);
      chars += json.length;
      // Once one is omitted all further ones are: else what follows would look contiguous.
      if (omitted === 0 && chars <= MAX_CHARS) values.push(json);
      else omitted += 1;
    }
  }
  tail.cut();
  // The log says when the runner first reported; it had the job since the attempt was opened.
  const { attempt } = state;
  if (attempt?.started_at) moments = { ...moments, started: attempt.opened_at };
  const input = life.dataRemoved ? null : record.input();
  const fits = typeof input === "string" && input.length <= MAX_CHARS;
  return {
    head: JSON.stringify({ ...record.present(), data_removed: life.dataRemoved }),
    model_id: spec.model_id,
    canceling: state.cancel_requested_at !== null && !life.terminal,
    last: log.stored,
    moments,
    setup: life.terminal ? null : setup,
    logs: { text: tail.text, hidden: tail.hidden, torn: tail.torn },
    output: { values, omitted, first },
    input: fits ? input : null,
  };
}
