/** The text of a log line: colors stay, other escape sequences go, and `\r` writes over the line. */
import Anser from "anser";
import type { PredictionError } from "../../protocol/prediction.ts";

export interface Segment {
  text: string;
  /** CSS class names, separated by spaces; empty for plain text. */
  style: string;
}

/** Group 1 is set for a color or another style; `ESC ] … BEL` sets a title, and `ESC ( B` a character set. */
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: `withColors` removes these characters.
  /\x1b(?:(\[[\d;]*m)|\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)|(?![\t\r\x1b])\p{Cc}/gu;
const COLOR = new RegExp(`${"\u001b"}\\[[\\d;]*m`, "g");
const RESET = new RegExp(`^${"\u001b"}\\[0*(?:;|(m))`);

/** Up to the last `\r` that text follows. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence is no text.
const RETURNS = /^.*\r(?=(?:\x1b\[[\d;?]*[A-Za-z])*[^\r\x1b])/s;

/** A line with more style changes is shown without styles, because each is an element of the page. */
const MAX_STYLES = 2_000;
/** A line continues at most this many style changes of the line before. */
const MAX_OPEN_STYLES = 8;

const withColors = (line: string): string =>
  withoutOverwritten(line.replace(ESCAPES, (_, color) => (color ? `\u001b${color}` : "")));

/** @param line without other control characters than `\r` and styles */
function withoutOverwritten(line: string): string {
  const text = line.replace(/\r+$/, "");
  const at = text.lastIndexOf("\r");
  return at < 0 ? text : openStyles(text.slice(0, at)) + text.slice(at + 1);
}

/** The text of a line without escape sequences, and without what was written over. */
export const plainText = (line: string): string => withColors(line).replace(COLOR, "");

/** Drops what `\r` has written over from a line that is not complete yet. */
export function compacted(line: string): string {
  const at = RETURNS.exec(line)?.[0].length ?? 0;
  return at === 0 ? line : openStyles(line.slice(0, at)) + line.slice(at);
}

/** The escape sequences of the style at the end of a line, which the next line begins with. */
export function openStyles(line: string): string {
  const styles = line.match(COLOR);
  if (!styles) return "";
  const reset = styles.findLastIndex((style) => RESET.test(style));
  const from = RESET.exec(styles[reset] ?? "")?.[1] ? reset + 1 : Math.max(0, reset);
  const open = styles.slice(from).slice(-MAX_OPEN_STYLES).join("");
  return open === "" || segmentsOf(`${open}.`)[0]?.style === "" ? "" : open;
}

export function segmentsOf(line: string): Segment[] {
  const text = withColors(line);
  const isStyled = (text.match(COLOR)?.length ?? 0) <= MAX_STYLES;
  const segments: Segment[] = [];
  for (const part of Anser.ansiToJson(isStyled ? text : plainText(text), { remove_empty: true })) {
    const style = classesOf(part);
    const last = segments.at(-1);
    if (last?.style === style) last.text += part.content;
    else segments.push({ text: part.content, style });
  }
  return segments;
}

const DECORATIONS = ["bold", "dim", "italic", "underline"] as const;

function classesOf({ fg, bg, decorations }: Anser.AnserJsonEntry): string {
  const names: string[] = DECORATIONS.filter((name) => decorations.includes(name));
  const [text, ground] = [hueOf(fg), hueOf(bg)];
  if (text) names.push(`fg-${text}`);
  if (ground !== undefined) names.push(`bg-${ground || GRAY}`);
  return names.join(" ");
}

const GRAY = 8;

/** The nearest color of a terminal, 1 to 6 or gray; 0 for black and white, which text has anyway. */
function hueOf(color: string | null): number | undefined {
  if (color === null) return undefined;
  const [red = 0, green = 0, blue = 0] = color.split(",").map(Number);
  const max = Math.max(red, green, blue);
  const min = Math.min(red, green, blue);
  if (max - min < 40) return max >= 64 && max < 192 ? GRAY : 0;
  const middle = (max + min) / 2;
  return Number(red > middle) + 2 * Number(green > middle) + 4 * Number(blue > middle);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with one.
const OPEN_END = /[\x1b\r]/;

/** A longer line is written to the file before it ends. */
const MAX_HELD_CHARS = 64 * 1024;

/** Leaves out the log that the error of a failed setup ends with, if it is shown elsewhere. */
export function withoutLog(error: PredictionError, shown: string): PredictionError {
  const [, message, log = ""] = /^([^\n]*):\n(.+)$/s.exec(error.message) ?? [];
  return message && shown.includes(log.trim()) ? { ...error, message } : error;
}

/** The whole log as plain text, where the last text of a line replaces what it was written over. */
export function* logFile(pieces: Iterable<string>): Generator<string> {
  let held = "";
  for (const piece of pieces) {
    held += piece;
    if (piece.includes("\n")) {
      const end = held.lastIndexOf("\n") + 1;
      const lines = held.slice(0, end).split("\n");
      yield lines.map(plainText).join("\n");
      held = held.slice(end);
    }
    if (held.length <= MAX_HELD_CHARS) continue;
    held = compacted(held);
    if (held.length <= MAX_HELD_CHARS / 2) continue;
    // An escape sequence or a `\r` at the end takes effect with the next piece.
    const end = held.slice(-64).search(OPEN_END);
    const cut = end < 0 ? held.length : held.length - 64 + end;
    yield plainText(held.slice(0, cut));
    held = held.slice(cut);
  }
  if (held !== "") yield plainText(held);
}
