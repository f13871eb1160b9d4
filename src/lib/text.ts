/** Texts for people and spreadsheets: sizes, counts, durations, text on one line, readable JSON, CSV. */
import { exactText } from "./exact-json.ts";
import type { Json } from "./json.ts";

/** Numbers of bytes for people: `1.2 GB`. */
const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

export function byteText(bytes: number): string {
  const power = bytes < 1_000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1_000 ** power;
  const shown = power === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1));
  return `${shown.toLocaleString("en")} ${UNITS[power]}`;
}

export const count = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? "" : "s"}`;

/** Returns a text that says when a runner that is kept until its runs end is free. */
export const freeText = (ms: number): string =>
  ms <= 0
    ? "should be free by now, but its current work is taking longer than expected"
    : `is expected to be free in ${aboutText(ms)}`;

export function aboutText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1_000));
  return seconds < 90 ? `about ${seconds} s` : `about ${Math.round(seconds / 60)} min`;
}

/** Control characters, and characters that change the direction of the text after them. */
export const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

const characters = new Intl.Segmenter();

/**
 * Returns the beginning of a text on one line, with an ellipsis where it is cut: after a word, or else after
 * a whole character as people see it.
 */
export function oneLine(text: string, maxChars: number): string {
  const line = text
    .trimStart()
    .slice(0, 4 * maxChars)
    .toWellFormed()
    .replaceAll(/\s+/g, " ")
    .replaceAll(UNSEEN, "")
    .trim();
  if (line.length <= maxChars) return line;
  let end = 0;
  for (const { index, segment } of characters.segment(line)) {
    if (index + segment.length >= maxChars) break;
    end = index + segment.length;
  }
  const word = line.slice(0, end + 1).lastIndexOf(" ");
  return `${line.slice(0, word > end / 2 ? word : end)}…`;
}

/** Deeper values are not indented: 8 KB of nested brackets would become 32 MB. */
const INDENTED_LEVELS = 5;

/** @param value within the depth limit of inputs and outputs */
/** Returns JSON for people to read, whose size stays in proportion to the value. */
export const readableJson = (value: Json): string =>
  exactText(value, isDeeper(value, INDENTED_LEVELS) ? 0 : 2);

function isDeeper(value: Json, levels: number): boolean {
  let level = [value].filter(isTree);
  for (let depth = 0; depth < levels; depth++)
    level = level.flatMap((one) => Object.values(one).filter(isTree));
  return level.length > 0;
}

const isTree = (value: Json): value is Json[] | { [key: string]: Json } =>
  typeof value === "object" && value !== null;

/** Spreadsheets split cells at a semicolon or a tab where a comma is for decimals. */
const NEEDS_QUOTES = /[",;\t\r\n]/;

/** A spreadsheet runs a text that begins so as a formula, unless a quote stands before it. */
const FORMULA = /^[\s\p{Cf}]*[=+\-@]|^[\t\r]/u;

/** Returns a line of CSV (RFC 4180). The types of csv-stringify and papaparse would bring in those of Node. */
export const csvLine = (cells: readonly (string | number)[]): string =>
  `${cells.map(cell).join(",")}\r\n`;

function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
