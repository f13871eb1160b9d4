/** The end of a log for display: plain lines, at most as many as a page can hold. */
import { MAX_CHARS, MAX_LOG_LINES } from "./display-limits.ts";
import { TerminalText } from "./terminal-text.ts";

export class LogTail {
  readonly #terminal = new TerminalText();
  /** Whole lines. */
  #lines = "";
  /** The one that is not ended. */
  #line = "";
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
    return this.#lines + this.#line;
  }

  /** Whether what follows is written over its last line. */
  get returned(): boolean {
    return this.#terminal.returned;
  }

  add(piece: string): void {
    const { over, text } = this.#terminal.add(piece);
    if (over) this.#eraseLine();
    const end = text.lastIndexOf("\n") + 1;
    if (end > 0) this.#lines += this.#line + text.slice(0, end);
    this.#line = end > 0 ? text.slice(end) : this.#line + text;
    // Not for each piece: cutting only at twice the limit keeps the cost linear.
    if (this.#lines.length + this.#line.length > 2 * MAX_CHARS) this.cut();
  }

  /** Cuts it to the limit. */
  cut(): void {
    const { text } = this;
    const from = tailStart(text);
    if (from > 0) this.#torn = text[from - 1] !== "\n";
    this.#hidden += linesIn(text.slice(0, from));
    const end = Math.max(from, text.lastIndexOf("\n") + 1);
    this.#lines = text.slice(from, end);
    this.#line = text.slice(end);
  }

  #eraseLine(): void {
    this.#line = "";
    if (this.#lines === "") this.#torn = false;
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
