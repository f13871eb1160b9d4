/**
 * Parses JSON for code that makes another value of it, as translations do, and writes that value. A number
 * that JSON.parse and JSON.stringify would change is a string meanwhile, which begins with a mark, and so
 * is a name that they would move or lose.
 */
import { type Json, stringEnd, withoutSeparators } from "./json.ts";

/**
 * JSON.parse reads all numbers and names exactly but these: many digits, an exponent, a last zero behind the point, -0, and
 * names that are integers or `__proto__`.
 */
const MAY_CHANGE = /\d[\d.]{15}|\d[eE]|\.\d*0(?!\d)|-0(?![\d.])|"(?:\d+|__proto__)"\s*:/;
const NUMBER_OR_QUOTE = /["\d-]/g;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const MOVED_NAME = /"(?:\d+|__proto__)"\s*:/y;

/** The mark is random, so no string of a body begins with it. Workers have no random values before a request. */
let mark: string | undefined;
const madeMark = () => {
  mark ??= `exact-${crypto.randomUUID()}-`;
  return mark;
};

/** @throws SyntaxError */
export function parseExact(text: string): Json {
  return JSON.parse(MAY_CHANGE.test(text) ? marked(text) : text);
}

function marked(text: string): string {
  const parts: string[] = [];
  let from = 0;
  const put = (at: number, end: number, replacement: string) => {
    parts.push(text.slice(from, at), replacement);
    from = end;
  };
  for (let at = 0; ; ) {
    NUMBER_OR_QUOTE.lastIndex = at;
    const { index } = NUMBER_OR_QUOTE.exec(text) ?? {};
    if (index === undefined) return parts.join("") + text.slice(from);
    if (text.charAt(index) === '"') {
      MOVED_NAME.lastIndex = index;
      if (MOVED_NAME.test(text)) put(index, index + 1, `"${madeMark()}`);
      at = stringEnd(text, index + 1);
      continue;
    }
    NUMBER.lastIndex = index;
    const [number = "-"] = NUMBER.exec(text) ?? [];
    at = index + number.length;
    if (String(Number(number)) !== number && number !== "-")
      put(index, at, `"${madeMark()}${number}"`);
  }
}

/** The JSON text of a value with parts that were parsed so, in the JSON of its strings, too. */
export function exactText(value: object | Json, indent = 0): string {
  const json = withoutSeparators(JSON.stringify(value, null, indent));
  if (mark === undefined || !json.includes(mark)) return json;
  // A match begins only at the start of a run of backslashes: from each one, a long run would take seconds.
  const numbers = new RegExp(`(?<!\\\\)(\\\\*")${mark}(${NUMBER.source})\\1(?!\\s*:)`, "g");
  return json.replace(numbers, "$2").replaceAll(mark, "");
}

/** Returns a string as JSON text, with the numbers in it that were marked. */
export const unmarked = (text: string): string =>
  mark === undefined ? text : text.replaceAll(mark, "");

/** A name as objects that were parsed so have it. */
export const markedName = (name: string): string =>
  /^(?:\d+|__proto__)$/.test(name) ? madeMark() + name : name;

/** Returns the number that JSON.parse makes of a marked string; undefined for other values. */
export function numberIn(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  const isMarked = mark !== undefined && typeof value === "string" && value.startsWith(mark);
  return isMarked ? Number(value.slice(mark?.length)) : undefined;
}
