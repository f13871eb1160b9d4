/**
 * The messages and the progress of a command on standard error: lines, and below them the progress. In a
 * terminal the latter is drawn again and again, otherwise a line is printed now and then.
 */
import { createLogUpdate } from "log-update";
import { safeText } from "./output.ts";

const REDRAW_MS = 100;
/** Without a terminal every fifth sample is printed. */
const SAMPLE_MS = 1_000;
const SAMPLES_PER_LINE = 5;
/** Columns of a terminal whose width is unknown. */
const COLUMNS = 80;

/** Standard error; `columns` is the width of a terminal. */
export type ErrorStream = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

/** Something that changes while it is shown. */
export interface Live {
  /** Returns the progress for a terminal of this width. */
  draw(columns: number): string[];
  /** Returns the progress as a line of a log; undefined if there is nothing to print. */
  line(): string | undefined;
}

export interface Display {
  /** Prints a line. */
  say(text: string): void;
  /** Shows a progress in place of the previous one, until the returned function is called. */
  show(live: Live): () => void;
  /** Whether standard error is a terminal. */
  readonly isTerminal: boolean;
}

export const silentDisplay: Display = {
  say: () => {},
  show: () => () => {},
  isTerminal: false,
};

export const createDisplay = (stream: ErrorStream, term: string | undefined): Display =>
  stream.isTTY && term !== "dumb" ? new TerminalDisplay(stream) : new LogDisplay(stream);

class TerminalDisplay implements Display {
  readonly isTerminal = true;
  readonly #stream: ErrorStream;
  readonly #area: ReturnType<typeof createLogUpdate>;
  #shown: Live | undefined;

  constructor(stream: ErrorStream) {
    this.#stream = stream;
    this.#area = createLogUpdate(stream, { defaultWidth: COLUMNS });
  }

  say(text: string): void {
    this.#area.clear();
    this.#stream.write(`${safeText(text)}\n`);
    this.#draw();
  }

  show(live: Live): () => void {
    this.#shown = live;
    this.#draw();
    const timer = setInterval(() => this.#draw(), REDRAW_MS);
    return () => {
      clearInterval(timer);
      if (this.#shown === live) this.#shown = undefined;
      this.#area.clear();
      // `done` shows the cursor again, too.
      this.#area.done();
    };
  }

  #draw(): void {
    if (!this.#shown) return;
    this.#area(safeText(this.#shown.draw(this.#stream.columns || COLUMNS).join("\n")));
  }
}

class LogDisplay implements Display {
  readonly isTerminal = false;
  readonly #stream: ErrorStream;

  constructor(stream: ErrorStream) {
    this.#stream = stream;
  }

  say(text: string): void {
    this.#stream.write(`${safeText(text)}\n`);
  }

  show(live: Live): () => void {
    let samples = 0;
    const timer = setInterval(() => {
      const line = live.line();
      if (++samples % SAMPLES_PER_LINE === 0 && line !== undefined) this.say(line);
    }, SAMPLE_MS);
    return () => clearInterval(timer);
  }
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

export class Status {
  readonly #display: Display;
  #text = "";
  #frame = 0;
  #hide: (() => void) | undefined;

  constructor(display: Display) {
    this.#display = display;
  }

  /** @param line the text without a terminal; the same by default, "" for none */
  set(text: string, line = text): void {
    if (text === this.#text) return;
    this.#text = text;
    if (!this.#display.isTerminal) {
      if (line !== "") this.#display.say(line);
      return;
    }
    this.#hide ??= this.#display.show({
      draw: (columns) => [`${this.#turn()} ${this.#text}`.slice(0, columns - 1)],
      line: () => undefined,
    });
  }

  /** Ends the display of a progress. */
  end(): void {
    this.#hide?.();
    this.#hide = undefined;
    this.#text = "";
  }

  #turn(): string {
    this.#frame = (this.#frame + 1) % FRAMES.length;
    return FRAMES[this.#frame] ?? "";
  }
}
