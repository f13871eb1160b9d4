/**
 * The promise to readers of a log: each event once, in order, and in the end all of it, through any number of
 * resumes.
 */
import type { Event, Reading } from "../history.ts";
import { textOf } from "../state.ts";
import { eachOf, endOf, type StormPromise, short } from "./promise.ts";
import { changeFor } from "./teams.ts";

export const readersSeeAll: StormPromise = {
  name: "each reader saw each event once, in order, to the end",
  check: eachOf(
    ({ readings }) => readings,
    (reading, history) => {
      const end = endOf(history, reading.id);
      const log = (reading.log === "events" ? end?.log : end?.response) ?? [];
      // The convention has no event for a cancel: the stream of a response just ends.
      const mayEnd = reading.log === "response" && end?.object?.status === "canceled";
      const isCut = changeFor(history, reading) !== undefined;
      const faults = faultsOf(reading, log, mayEnd, isCut);
      return faults.map((what) => ({ id: reading.id, what: `${reading.reader}: ${what}` }));
    },
  ),
};

/** A response's first event has the id 0. */
const NOTHING = -1;

/**
 * @param whole the final log
 * @param mayEnd whether the stream may end without its last event
 * @param isCut whether the access of the reader has ended, who then has a beginning of the log
 */
function faultsOf(
  { events, connections, complete, log: kind, given_up }: Reading,
  whole: Event[],
  mayEnd: boolean,
  isCut: boolean,
): string[] {
  const ids = events.map(({ id }) => id);
  const log = given_up || isCut ? whole.filter(({ id }) => id <= (ids.at(-1) ?? NOTHING)) : whole;
  const rises = ids.every((id, n) => n === 0 || id > (ids[n - 1] ?? 0));
  const refused = connections.find(({ ended }) => ended === "refused");
  const cutShort = connections.findIndex(
    ({ ended }, n) => ended === "end" && !mayEnd && !isCut && n < connections.length - 1,
  );
  const seen = new Map(events.map((event) => [event.id, event]));
  const missed = log.filter(({ id }) => !seen.has(id));
  const other = log.filter((event) => differs(kind, event, seen.get(event.id)));
  return [
    ...(rises ? [] : [`ids did not rise: ${short(ids)}`]),
    ...(refused && !isCut ? [`it was refused after ${refused.after}: ${refused.why}`] : []),
    ...(complete || given_up || isCut ? [] : [`it never came to the end: ${short(connections)}`]),
    ...(cutShort < 0 ? [] : [`connection ${cutShort} ended without an end: ${short(connections)}`]),
    ...(missed.length === 0
      ? []
      : [`it missed ${short(missed)} of ${log.length}: ${short(connections)}`]),
    ...(other.length === 0
      ? []
      : [`the log now says ${short(other[0])} where it saw ${short(seen.get(other[0]?.id ?? 0))}`]),
    ...lostOf(events, whole).map((event) => `it saw what is not in the log: ${short(event)}`),
  ];
}

/**
 * Whether an event differs from the final log. Objects in a response's events are written again for each
 * reader, so only their texts count.
 */
function differs(kind: Reading["log"], event: Event, seen: Event | undefined): boolean {
  if (!seen) return false;
  if (kind === "events") return textOf(event) !== textOf(seen);
  return event.event !== seen.event || deltaOf(event) !== deltaOf(seen);
}

const deltaOf = ({ data }: Event): unknown =>
  typeof data === "object" && data !== null && "delta" in data ? data.delta : undefined;

/**
 * Returns events that were shown but never stored. This is allowed where the runner and the object died
 * within the same 250 ms: the log then has a gap, and none of these events is the prediction's own.
 */
function lostOf(events: Event[], log: Event[]): Event[] {
  const stored = new Set(log.map(({ id }) => id));
  const gaps = log.slice(1).flatMap(({ id }, n) => {
    const from = log[n]?.id ?? 0;
    return id > from + 1 ? [{ from, to: id }] : [];
  });
  const mayBeLost = ({ id, event }: Event) =>
    gaps.some(({ from, to }) => from < id && id < to) && !OWN.includes(event);
  return events.filter((event) => !stored.has(event.id) && !mayBeLost(event));
}

const OWN = ["status", "error", "done"];
