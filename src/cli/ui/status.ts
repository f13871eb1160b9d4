/** What a command waits for, as one line that turns. */
import type { Display } from "./display.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

export class Status {
  readonly #display: Display;
  #text = "";
  #frame = 0;
  #hide: (() => void) | undefined;

  constructor(display: Display) {
    this.#display = display;
  }

  /** @param line what a log has of it, where nobody watches; the same by default, "" for nothing */
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

  /** Shows it no more. */
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
