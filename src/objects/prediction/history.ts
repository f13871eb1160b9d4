/** What a page shows of a prediction: all that its log tells, within bounds. */

import { MAX_CHARS } from "../../domain/predictions/display-limits.ts";
import { LogTail } from "../../domain/predictions/log-tail.ts";
import { type Moments, NO_MOMENTS, withEvent } from "../../domain/predictions/timeline.ts";
import type { SetupProgress, StoredValue } from "../../protocol/event.ts";
import type { PredictionRecord } from "./record.ts";

export interface History {
  /** The prediction without input and output, and `data_removed`: JSON text. */
  head: string;
  model_id: string;
  /** Its end was asked for. */
  canceling: boolean;
  /** The id of the last event that is in here: a stream goes on from there. */
  last: number;
  moments: Moments;
  /** How far the container is; null once it is ready. */
  setup: Omit<SetupProgress, "logs"> | null;
  /**
   * Of the container and of the model, how many lines are left out before that, and whether the
   * first that is there has lost its beginning.
   */
  logs: { text: string; hidden: number; torn: boolean };
  /** JSON texts, from the first on; when there is none, what is stored in place of the first. */
  output: { values: string[]; omitted: number; first: StoredValue | null };
  /** JSON text; null when it is too large, or gone. */
  input: string | null;
}

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
  for (const { at, attempt, events } of log.written()) {
    for (const one of events) {
      moments = withEvent(moments, one, at);
      // What the runner before has got ready is not there any more.
      if (one.event === "status") setup = null;
      if (one.event === "logs") tail.add(one.data);
      if (one.event === "setup") {
        const { logs = "", ...progress } = one.data;
        tail.add(logs);
        setup = progress.phase === "ready" ? null : progress;
      }
      if (attempt !== life.outputAttempt) continue;
      if (one.event === "stored") {
        if (values.length + omitted === 0) first = one.data;
        omitted += 1;
      }
      if (one.event !== "output") continue;
      const json = JSON.stringify(one.data);
      chars += json.length;
      // What follows what is left out would look as if it belonged to what is before that.
      if (omitted === 0 && chars <= MAX_CHARS) values.push(json);
      else omitted += 1;
    }
  }
  tail.cut();
  // A runner is heard when it has something to say: that it had it before that the state knows.
  const { attempt } = state;
  if (attempt?.started_at) moments = { ...moments, started: attempt.opened_at };
  const input = life.dataRemoved ? null : record.input();
  const shown = typeof input === "string" && input.length <= MAX_CHARS;
  return {
    head: JSON.stringify({ ...record.present(), data_removed: life.dataRemoved }),
    model_id: spec.model_id,
    canceling: state.cancel_requested_at !== null && !life.terminal,
    last: log.last,
    moments,
    setup: life.terminal ? null : setup,
    logs: { text: tail.text, hidden: tail.hidden, torn: tail.torn },
    output: { values, omitted, first },
    input: shown ? input : null,
  };
}
