/** The outputs behind an event of the log, as far as a page shows them at once. */
import type { StoredValue } from "../../protocol/event.ts";
import type { StoredRowEvent } from "./log-rows.ts";
import type { PredictionRecord } from "./record.ts";
import type { OutputPage } from "./rpc-types.ts";

/**
 * Reads the rows that have them, not those before.
 * @param chars at which it ends; the last output may exceed them
 * @returns undefined when they were removed
 */
export function outputPageOf({ life, log }: PredictionRecord, after: number, chars: number) {
  if (life.dataRemoved) return undefined;
  const page: OutputPage = { texts: [], stored: null, more: false };
  let length = 0;
  for (const { id, json, event } of outputsOf(log.storedEvents(after), life.outputAttempt)) {
    const isFull = page.stored !== null || length >= chars;
    if (isFull || (event === "stored" && page.texts.length > 0)) return { ...page, more: true };
    if (event === "stored") {
      const value: StoredValue = JSON.parse(json);
      page.stored = { id, value };
    } else page.texts.push({ id, json });
    length += json.length;
  }
  return page;
}

function* outputsOf(events: Iterable<StoredRowEvent>, ofAttempt: number) {
  for (const one of events) {
    const isOutput = one.event === "output" || one.event === "stored";
    if (isOutput && one.attempt === ofAttempt) yield one;
  }
}
