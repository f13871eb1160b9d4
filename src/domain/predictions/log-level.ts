/** The level of a line of a log, which the line itself names. */
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
