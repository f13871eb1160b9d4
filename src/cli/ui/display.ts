/**
 * What a command says while it works, on standard error: lines, and below them what changes. In a
 * terminal the latter is drawn again and again, otherwise a line is printed now and then.
 */
import type { WriteStream } from "node:tty";
import { createLogUpdate } from "log-update";
import { safeText } from "./safe-text.ts";

const REDRAW_MS = 100;
/** Without a terminal every fifth sample is printed. */
const SAMPLE_MS = 1_000;
const SAMPLES_PER_LINE = 5;
/** If the terminal's width is unknown. */
const COLUMNS = 80;

/** Something that changes while it is shown. */
export interface Live {
  /** In a terminal of so many columns. */
  draw(columns: number): string[];
  /** The same as a line of a log; undefined if there is nothing to say. */
  line(): string | undefined;
}

export interface Display {
  /** Prints a line. */
  say(text: string): void;
  /** Shows it, instead of what was shown before, until the returned function is called. */
  show(live: Live): () => void;
  /** Whether a person watches. */
  readonly isTerminal: boolean;
}

export const silentDisplay: Display = {
  say: () => {},
  show: () => () => {},
  isTerminal: false,
};

export const createDisplay = (stream: WriteStream, term: string | undefined): Display =>
  stream.isTTY && term !== "dumb" ? new TerminalDisplay(stream) : new LogDisplay(stream);

class TerminalDisplay implements Display {
  readonly isTerminal = true;
  readonly #stream: WriteStream;
  readonly #area: ReturnType<typeof createLogUpdate>;
  #shown: Live | undefined;

  constructor(stream: WriteStream) {
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
      // Also shows the cursor again.
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
  readonly #stream: WriteStream;

  constructor(stream: WriteStream) {
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
