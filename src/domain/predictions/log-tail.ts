/** The end of a log for display: styled lines with their times, at most as many as a page can hold. */
import { MAX_CHARS, MAX_LOG_LINES } from "./display-limits.ts";
import { NEW_TERMINAL, Terminal, type TerminalState } from "./terminal.ts";

/** Text of one look. */
export interface Segment {
  text: string;
  /** Names of CSS classes. */
  style: string;
}

export interface LogLine {
  segments: Segment[];
  /** When its text came, unix ms. */
  at: number | null;
}

/** What comes before the lines, and how the next piece continues them. */
export interface TailState {
  /** How many lines are left out before them. */
  hidden: number;
  /** Whether the first one has lost its beginning. */
  torn: boolean;
  /** What follows is written over the last line. */
  returned: boolean;
  terminal: TerminalState;
}

export const NEW_TAIL: TailState = {
  hidden: 0,
  torn: false,
  returned: false,
  terminal: NEW_TERMINAL,
};

/** What a styled segment counts as beside its text: else a log of colors alone would be a page of markup. */
const MARKUP_CHARS = 24;

export class LogTail {
  readonly #terminal: Terminal;
  /** The last one is not ended. */
  #lines: LogLine[];
  #chars = 0;
  #hidden: number;
  #torn: boolean;
  #returned: boolean;
  /** When the piece came that is being read. */
  #now: number | null = null;
  /** The number of the first line that has changed, counted from the beginning of the log. */
  #changed: number;

  constructor({ hidden, torn, returned, terminal } = NEW_TAIL, lines: LogLine[] = [newLine()]) {
    this.#hidden = hidden;
    this.#torn = torn;
    this.#returned = returned;
    this.#lines = lines;
    this.#changed = hidden + lines.length;
    for (const line of lines) this.#chars += charsOf(line) + 1;
    this.#chars -= 1;
    this.#terminal = new Terminal(
      {
        text: (text, style) => this.#write(text, style),
        return: () => {
          this.#returned = true;
        },
        newLine: () => this.#endLine(),
      },
      terminal,
    );
  }

  get state(): TailState {
    const { state: terminal } = this.#terminal;
    return { hidden: this.#hidden, torn: this.#torn, returned: this.#returned, terminal };
  }

  get lines(): readonly LogLine[] {
    return this.#lines;
  }

  get text(): string {
    return this.#lines.map(textOf).join("\n");
  }

  add(piece: string, at: number | null = null): void {
    this.#now = at;
    this.#terminal.add(piece);
  }

  /** How many of the last lines have changed since the last call, or are new. */
  takeChanged(): number {
    const end = this.#hidden + this.#lines.length;
    const changed = Math.min(end - this.#changed, this.#lines.length);
    this.#changed = end;
    return changed;
  }

  /** Cuts it to the limit. */
  cut(): void {
    const beyond = this.#lines.length - 1 - MAX_LOG_LINES;
    let count = 0;
    for (; count < this.#lines.length - 1; count++) {
      const chars = charsOf(this.#lines[count]) + 1;
      if (count >= beyond && this.#chars - chars < MAX_CHARS) break;
      this.#chars -= chars;
    }
    this.#lines.splice(0, count);
    this.#hidden += count;
    if (count > 0) this.#torn = false;
    if (this.#chars > MAX_CHARS) this.#tear(this.#chars - MAX_CHARS);
  }

  /** Removes the beginning of the first line. */
  #tear(surplus: number): void {
    const segments = this.#lines[0]?.segments ?? [];
    let left = surplus;
    let count = 0;
    for (const one of segments) {
      if (one.text.length > left) {
        one.text = one.text.slice(left);
        this.#chars -= left;
        break;
      }
      count += 1;
      left -= segmentChars(one);
      this.#chars -= segmentChars(one);
      if (left <= 0) break;
    }
    segments.splice(0, count);
    this.#torn = true;
    this.#changed = Math.min(this.#changed, this.#hidden);
  }

  #write(text: string, style: string): void {
    if (this.#returned) this.#eraseLine();
    const line = this.#lastLine();
    const last = line.segments.at(-1);
    line.at ??= this.#now;
    this.#chars += text.length;
    if (last?.style === style) last.text += text;
    else {
      const segment = { text, style };
      line.segments.push(segment);
      this.#chars += segmentChars(segment) - text.length;
    }
    // Not for each piece: cutting only at twice the limit keeps the cost linear.
    if (this.#chars > 2 * MAX_CHARS) this.cut();
  }

  #endLine(): void {
    this.#returned = false;
    this.#lastLine().at ??= this.#now;
    this.#lines.push(newLine());
    this.#chars += 1;
    if (this.#lines.length > 2 * MAX_LOG_LINES) this.cut();
  }

  #eraseLine(): void {
    this.#returned = false;
    const line = this.#lastLine();
    this.#chars -= charsOf(line);
    line.segments = [];
    line.at = null;
    if (this.#lines.length === 1) this.#torn = false;
  }

  #lastLine(): LogLine {
    const line = this.#lines.at(-1) ?? newLine();
    if (this.#lines.length === 0) this.#lines.push(line);
    this.#changed = Math.min(this.#changed, this.#hidden + this.#lines.length - 1);
    return line;
  }
}

export const newLine = (): LogLine => ({ segments: [], at: null });

export const textOf = ({ segments }: LogLine): string => segments.map(({ text }) => text).join("");

const segmentChars = ({ text, style }: Segment) => text.length + (style === "" ? 0 : MARKUP_CHARS);

const charsOf = (line: LogLine | undefined): number =>
  line ? line.segments.reduce((sum, one) => sum + segmentChars(one), 0) : 0;
