/** The end of a log as people read it: plain lines, and not more than a page can hold. */

import { MAX_CHARS, MAX_LOG_LINES } from "./display-limits.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: what colours a terminal begins with one
const COLOURS = /\u001b\[[0-9;]*[A-Za-z]/g;

/** Without what only a terminal understands: colours, and lines that are written over. */
export const plainLog = (text: string) => text.replace(COLOURS, "").replace(/\r\n?/g, "\n");

export class LogTail {
  #text = "";
  #hidden = 0;
  #torn = false;

  /** How many lines are left out before the text. */
  get hidden(): number {
    return this.#hidden;
  }

  /** Whether the first line of the text has lost its beginning. */
  get torn(): boolean {
    return this.#torn;
  }

  get text(): string {
    return this.#text;
  }

  add(text: string): void {
    this.#text += plainLog(text);
    // Not with each piece: a tail is cut in one go when it has become twice as long as it may be.
    if (this.#text.length > 2 * MAX_CHARS) this.cut();
  }

  /** Leaves as much as may be shown. */
  cut(): void {
    const from = tailStart(this.#text);
    if (from > 0) this.#torn = this.#text[from - 1] !== "\n";
    this.#hidden += linesIn(this.#text.slice(0, from));
    this.#text = this.#text.slice(from);
  }
}

/** Where the part of a text begins that is shown. */
function tailStart(text: string): number {
  let start = text.length;
  for (let lines = 0; lines <= MAX_LOG_LINES && start > 0; lines++) {
    start = text.lastIndexOf("\n", start - 1);
    if (start < text.length - MAX_CHARS) break;
  }
  const line = start <= 0 ? 0 : start + 1;
  if (text.length - line <= MAX_CHARS) return line;
  return text.length - MAX_CHARS;
}

const linesIn = (text: string) => text.split("\n").length - 1;
