/** A promise that is checked on the history of a storm. */
import type { End, History } from "../history.ts";

export interface Breach {
  /** The fault, with all that helps to find its cause. */
  what: string;
  /** The ID of the prediction. */
  id?: string | undefined;
  /** The number of the plan's call. */
  n?: number | undefined;
}

export interface Verdict {
  /** The number of things that the promise was checked on. */
  checked: number;
  breaches: Breach[];
}

export interface StormPromise {
  name: string;
  check: (history: History) => Verdict;
}

/** Returns a check of a promise that each of some things keeps, or has breaches of. */
export function eachOf<Thing>(
  thingsOf: (history: History) => Thing[],
  breachesOf: (thing: Thing, history: History) => Breach[],
): StormPromise["check"] {
  return (history) => {
    const things = thingsOf(history);
    return {
      checked: things.length,
      breaches: things.flatMap((thing) => breachesOf(thing, history)),
    };
  };
}

const found = new WeakMap<History, Map<string, End>>();

export function endOf(history: History, id: string): End | undefined {
  let ends = found.get(history);
  if (!ends) {
    ends = new Map(history.ends.map((end) => [end.id, end]));
    found.set(history, ends);
  }
  return ends.get(id);
}

/** The time from the note of a fault to its effect, ms. */
const AROUND_MS = 1_000;

/** Whether the control plane was killed or stopped between two times, unix ms. */
export const isDisturbed = ({ faults }: History, from: number, to: number): boolean =>
  faults.some(
    ({ at, what, ms }) => what.startsWith("control plane") && at < to && at + ms > from - AROUND_MS,
  );

const MARK = /storm-(\d+)-/;

/** Returns the number of a prediction's call, from the mark in its input. */
export function callIn({ object }: End): number | undefined {
  const mark = MARK.exec(JSON.stringify(object?.input ?? null));
  return mark ? Number(mark[1]) : undefined;
}

export const short = (value: unknown): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
  return text.length > 600 ? `${text.slice(0, 600)} …` : text;
};
