/** What the dashboard shows of a prediction, read from its whole log. */
import { MAX_CHARS } from "../../domain/predictions/display-limits.ts";
import { LogTail } from "../../domain/predictions/log-tail.ts";
import type { StoredValue } from "../../protocol/event.ts";
import { eventsIn } from "./log-rows.ts";
import type { PredictionRecord } from "./record.ts";
import type { History } from "./rpc-types.ts";
import { Progress } from "./standing.ts";

/** @param hasLogs whether anybody wants to see the lines of its log, which take longest to read */
export function historyOf(record: PredictionRecord, hasLogs: boolean): History {
  const { life, log } = record;
  const tail = new LogTail();
  const values: string[] = [];
  const progress = new Progress();
  let chars = 0;
  let omitted = 0;
  let first: StoredValue | null = null;
  for (const { at: time, attempt, events, body } of log.rows()) {
    const texts = attempt === life.outputAttempt ? eventsIn(body) : [];
    for (const [n, logEvent] of events.entries()) {
      progress.add(logEvent, time);
      if (hasLogs && logEvent.event === "logs") tail.add(logEvent.data, time);
      if (hasLogs && logEvent.event === "setup") tail.add(logEvent.data.logs ?? "", time);
      if (attempt !== life.outputAttempt) continue;
      if (logEvent.event === "stored") {
        if (values.length + omitted === 0) first = logEvent.data;
        omitted += 1;
      }
      if (logEvent.event !== "output") continue;
      const json = texts[n]?.json ?? "";
      chars += json.length;
      // Once one is omitted all further ones are: else what follows would look contiguous.
      const isShown = omitted === 0 && chars <= MAX_CHARS;
      if (isShown) values.push(json);
      else omitted += 1;
    }
  }
  tail.cut();
  const input = life.dataRemoved ? null : record.input();
  const fits = typeof input === "string" && input.length <= MAX_CHARS;
  return {
    head: JSON.stringify({ ...record.present(), data_removed: life.dataRemoved }),
    model_id: life.spec.model_id,
    canceling: life.state.cancel_requested_at !== null && !life.terminal,
    last: log.stored,
    standing: progress.standing(record),
    logs: { lines: [...tail.lines], state: tail.state },
    output: { values, omitted, first },
    input: fits ? input : null,
  };
}
