/** Search in a log: the lines that match a query, and the places of the text in them. */
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

interface ShownSegment extends Segment {
  hit: boolean;
}

/** The most hits that are marked in a line: each is an element of the page. */
const MAX_HITS = 20;

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

/** The level of a line of a log, if the line has one. */
export const LOG_LEVELS = ["debug", "info", "warning", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Levels stand at the beginning of a line, after a time and a name. */
const HEAD_CHARS = 160;

const WORDS: Record<string, LogLevel> = {
  trace: "debug",
  debug: "debug",
  info: "info",
  notice: "info",
  warn: "warning",
  warning: "warning",
  error: "error",
  err: "error",
  critical: "error",
  fatal: "error",
  panic: "error",
};
const LETTERS: Record<string, LogLevel> = {
  D: "debug",
  I: "info",
  W: "warning",
  E: "error",
  F: "error",
};

const NAMES = Object.keys(WORDS).join("|");
/** `"level": "warn"` and `level=warn`. */
const FIELD = new RegExp(`\\b(?:level|levelname|severity|lvl)"?\\s*[:=]\\s*"?(${NAMES})\\b`, "i");
/** `warning: …`, `[error] …` and `(info) …`. */
const FIRST = new RegExp(`^[[(<]?(${NAMES})(?:[\\])>]|:\\s)`, "i");
/** A level in capitals, anywhere in the line. */
const CAPITALS = new RegExp(`(?<![\\w/.-])(${NAMES.toUpperCase()})(?![\\w/.-])`);
/** `E0101 12:00:00.000000 …`, as Google's libraries write. */
const LETTER = /^([DIWEF])\d{4} \d\d:/;
/** Failures and warnings as Python and others print them. */
const FAILURE =
  /^(?:Traceback \(most recent call last\)|[\w.]*(?:Error|Exception|KeyboardInterrupt)(?::|$)|thread '.*' panicked|Segmentation fault|Killed$)/;
const CAUTION = /(?:^|\s)\w*Warning:/;

/** @param before the level of the line before: an indented line belongs to that */
export function levelOf(line: string, before?: LogLevel): LogLevel | undefined {
  if (/^\s+\S/.test(line.slice(0, HEAD_CHARS))) return before;
  const head = line.slice(0, HEAD_CHARS);
  const word = (FIELD.exec(head) ?? FIRST.exec(head) ?? CAPITALS.exec(head))?.[1];
  if (word) return WORDS[word.toLowerCase()];
  const letter = LETTER.exec(head)?.[1];
  if (letter) return LETTERS[letter];
  if (FAILURE.test(head)) return "error";
  return CAUTION.test(head) ? "warning" : undefined;
}
