/**
 * What Markdown would cost to read. micromark takes the square of some things, and one isolate
 * serves everybody: 32,000 characters could take 37 s. Within these bounds the worst that a fuzz
 * has found took 0.7 s of CPU; of 471 texts in packages and in Node's own documentation all are within.
 */
const ITEM = String.raw`(?:[*+-]|\d{1,9}[.)])[ \t]`;

/** Of what there may be how much; a text has at most 2,000, 1,300 and 25 of the first three. */
const BOUNDS: [RegExp, number][] = [
  // Runs and brackets, of which each looks for its partner among all others.
  [/[*_~[\]^]/g, 2_500],
  [/\r\n?|\n/g, 1_500],
  // Underlines of headings: each goes through all that is above it.
  [/^[ \t>]*(?:=+|-+)[ \t]*$/gm, 100],
  // Lists that begin on one line.
  [new RegExp(`^[ \\t>]*${ITEM}[ \\t]*(?:>|${ITEM})`, "gm"), 100],
  // Quotes and lists within each other: on one line, and line by line (40 columns).
  [new RegExp(`^(?:[ \\t]*(?:>|${ITEM})){17}`, "gm"), 0],
  [new RegExp(`^(?:[ >]{4}|[ >]{0,3}\\t){10}[ \\t>]*${ITEM}`, "gm"), 0],
  // Columns of a table: a row is filled up to the width of its head.
  [/^(?:[^|\r\n]*\|){50}/gm, 0],
];

export const isCostly = (text: string): boolean =>
  BOUNDS.some(([pattern, most]) => (text.match(pattern)?.length ?? 0) > most);
