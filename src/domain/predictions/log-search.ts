/** Search in a log: the lines that match a query, and the places of the text in them. */
import { LOG_LEVELS, type LogLevel } from "./log-level.ts";
import type { Segment } from "./log-text.ts";

export interface LogQuery {
  /** Text to look for, in any case. Empty: any text. */
  find: string;
  /** The least serious level; undefined: any, and lines without one. */
  level: LogLevel | undefined;
}

export const ANY_LINE: LogQuery = { find: "", level: undefined };

export const isAnyLine = ({ find, level }: LogQuery) => find === "" && level === undefined;

export function isWanted(
  text: string,
  of: LogLevel | undefined,
  { find, level }: LogQuery,
): boolean {
  if (level && (!of || LOG_LEVELS.indexOf(of) < LOG_LEVELS.indexOf(level))) return false;
  return find === "" || folded(text).includes(folded(find));
}

export interface ShownSegment extends Segment {
  /** Whether the segment is a match. */
  hit: boolean;
}

/** The most hits that are marked in a line: each is an element of the page. */
const MAX_HITS = 20;

/** A line's segments, divided where hits begin and end. */
export function withHits(segments: Segment[], find: string): ShownSegment[] {
  const needle = folded(find);
  if (needle === "") return segments.map((one) => ({ ...one, hit: false }));
  const text = folded(segments.map((one) => one.text).join(""));
  const shown: ShownSegment[] = [];
  let start = 0;
  let found = 1;
  let hit = text.indexOf(needle);
  for (const { text: part, style } of segments) {
    const end = start + part.length;
    for (let at = start; at < end; ) {
      const isHit = hit >= 0 && at >= hit;
      const edge = isHit ? hit + needle.length : hit;
      const to = edge < 0 ? end : Math.min(end, edge);
      if (to > at) shown.push({ text: part.slice(at - start, to - start), style, hit: isHit });
      if (isHit && to === edge) hit = found++ < MAX_HITS ? text.indexOf(needle, to) : -1;
      at = to;
    }
    start = end;
  }
  return shown;
}

/** Returns the text in lower case, unless that changes its length: places of hits must stay the same. */
const folded = (text: string): string => {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text;
};
