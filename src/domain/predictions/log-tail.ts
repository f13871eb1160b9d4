/** The end of a log for display: its last lines with their times, at most as many as a page can hold. */
import { MAX_CHARS, MAX_LOG_LINES } from "./display-limits.ts";
import { compacted, openStyles, plainText } from "./log-text.ts";

export interface LogLine {
  /** Text as the container wrote it, with escape sequences. */
  text: string;
  /** When the text of the line came, unix ms. */
  at: number | null;
}

export interface TailState {
  /** How many lines are left out before the first one. */
  hidden: number;
  torn: boolean;
}

export const NEW_TAIL: TailState = { hidden: 0, torn: false };

/** A line that is not complete is compacted once it is this much longer than twice its last length. */
const COMPACTION_CHARS = 4_096;

export class LogTail {
  readonly #lines: LogLine[];
  #chars: number;
  #compactedChars = 0;
  #hidden: number;
  #torn: boolean;

  constructor({ hidden, torn } = NEW_TAIL, lines: LogLine[] = [newLine()]) {
    this.#hidden = hidden;
    this.#torn = torn;
    this.#lines = lines;
    this.#chars = lines.reduce((sum, { text }) => sum + text.length + 1, -1);
  }

  get state(): TailState {
    return { hidden: this.#hidden, torn: this.#torn };
  }

  get lines(): readonly LogLine[] {
    return this.#lines;
  }

  add(piece: string, at: number | null = null): void {
    const [first = "", ...others] = piece.split("\n");
    this.#write(first, at);
    for (const text of others) {
      this.#endLine(at);
      this.#write(text, at);
    }
  }

  cut(): void {
    this.#compact();
    const beyond = this.#lines.length - 1 - MAX_LOG_LINES;
    let count = 0;
    for (; count < this.#lines.length - 1; count++) {
      const chars = (this.#lines[count]?.text.length ?? 0) + 1;
      if (count >= beyond && this.#chars - chars < MAX_CHARS) break;
      this.#chars -= chars;
    }
    this.#lines.splice(0, count);
    this.#hidden += count;
    if (count > 0) this.#torn = false;
    const [first] = this.#lines;
    if (!first || this.#chars <= MAX_CHARS) return;
    first.text = first.text.slice(this.#chars - MAX_CHARS);
    this.#chars = MAX_CHARS;
    this.#torn = true;
  }

  #write(text: string, at: number | null): void {
    if (text === "") return;
    const line = this.#last;
    const isWrittenOver = /\r[^\r]/.test(line.text.slice(-1) + text);
    if (line.at === null || isWrittenOver) line.at = at;
    if (isWrittenOver && this.#lines.length === 1) this.#torn = false;
    line.text += text;
    this.#chars += text.length;
    if (line.text.length > 2 * this.#compactedChars + COMPACTION_CHARS) this.#compact();
    // Cutting at twice the limit, not with each piece, keeps the cost linear.
    if (this.#chars > 2 * MAX_CHARS) this.cut();
  }

  #endLine(at: number | null): void {
    const line = this.#last;
    line.at ??= at;
    const next = { text: openStyles(line.text), at: null };
    if (plainText(line.text) === "") this.#replaceLast("");
    this.#compact();
    this.#lines.push(next);
    this.#chars += next.text.length + 1;
    this.#compactedChars = 0;
    if (this.#lines.length > 2 * MAX_LOG_LINES) this.cut();
  }

  #compact(): void {
    this.#replaceLast(compacted(this.#last.text));
    this.#compactedChars = this.#last.text.length;
  }

  #replaceLast(text: string): void {
    this.#chars += text.length - this.#last.text.length;
    this.#last.text = text;
  }

  get #last(): LogLine {
    const line = this.#lines.at(-1) ?? newLine();
    if (this.#lines.length === 0) this.#lines.push(line);
    return line;
  }
}

export const newLine = (): LogLine => ({ text: "", at: null });
