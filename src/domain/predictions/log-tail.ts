/** The end of a log for display: plain lines, at most as many as a page can hold. */
import { MAX_CHARS, MAX_LOG_LINES } from "./display-limits.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI escapes begin with one
const ANSI_ESCAPES = /\u001b\[[0-9;]*[A-Za-z]/g;

/** Without terminal colors. A line that a terminal would overwrite becomes a line of its own. */
export const plainLog = (text: string) => text.replace(ANSI_ESCAPES, "").replace(/\r\n?/g, "\n");

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
    // Not for each piece: cutting only at twice the limit keeps the cost linear.
    if (this.#text.length > 2 * MAX_CHARS) this.cut();
  }

  /** Cuts it to the limit. */
  cut(): void {
    const from = tailStart(this.#text);
    if (from > 0) this.#torn = this.#text[from - 1] !== "\n";
    this.#hidden += linesIn(this.#text.slice(0, from));
    this.#text = this.#text.slice(from);
  }
}

/** Where the displayed end of a text begins. */
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
