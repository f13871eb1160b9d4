/**
 * Reads text as a terminal does, in pieces that may end anywhere: of its escapes, colors count and all
 * others are dropped. Each character is looked at once, and at most 64 are kept of an escape.
 */
import { classesOf, PLAIN, type Style, withSgr } from "./sgr.ts";

export interface Screen {
  /** @param style names of CSS classes */
  text(text: string, style: string): void;
  /** The cursor goes to the beginning of the line. */
  return(): void;
  newLine(): void;
}

type Mode = "text" | "escape" | "sequence" | "string";

/** What a terminal remembers between two pieces. */
export interface TerminalState {
  mode: Mode;
  parameters: string;
  style: Style;
}

export const NEW_TERMINAL: TerminalState = { mode: "text", parameters: "", style: PLAIN };

const MAX_PARAMETERS = 64;

/** Control characters but the tab. */
const CONTROL = /(?!\t)\p{Cc}/gu;
const ESCAPE = "\u001b";
const BELL = "\u0007";

export class Terminal {
  readonly #screen: Screen;
  #mode: Mode;
  #parameters: string;
  #style: Style;
  /** Of the style; undefined until there is text in it. */
  #classes: string | undefined;

  constructor(screen: Screen, { mode, parameters, style } = NEW_TERMINAL) {
    this.#screen = screen;
    this.#mode = mode;
    this.#parameters = parameters;
    this.#style = style;
  }

  get state(): TerminalState {
    return { mode: this.#mode, parameters: this.#parameters, style: this.#style };
  }

  add(piece: string): void {
    for (let at = 0; at < piece.length; )
      at = this.#mode === "text" ? this.#readText(piece, at) : this.#readEscape(piece, at);
  }

  /** @returns where it goes on */
  #readText(piece: string, from: number): number {
    CONTROL.lastIndex = from;
    const control = CONTROL.exec(piece);
    const end = control?.index ?? piece.length;
    if (end > from) {
      this.#classes ??= classesOf(this.#style);
      this.#screen.text(piece.slice(from, end), this.#classes);
    }
    const character = control?.[0];
    if (character === ESCAPE) this.#mode = "escape";
    else if (character === "\n") this.#screen.newLine();
    else if (character === "\r") this.#screen.return();
    return end + 1;
  }

  /** The end of a line ends each escape, so that one that was never closed hides no more than that. */
  #readEscape(piece: string, at: number): number {
    const character = piece.charAt(at);
    const isString = this.#mode === "string";
    if (character === ESCAPE) this.#mode = "escape";
    else if (isString && character === BELL) this.#mode = "text";
    else if (character < " ") {
      this.#mode = "text";
      return at;
    } else if (this.#mode === "escape") this.#begin(character);
    else if (this.#mode === "sequence") return this.#readSequence(character, at);
    return at + 1;
  }

  #begin(character: string): void {
    this.#parameters = "";
    if (character === "[") this.#mode = "sequence";
    else if ("]PX^_".includes(character)) this.#mode = "string";
    // As in `ESC ( B`: one more follows.
    else if (character > "/") this.#mode = "text";
  }

  #readSequence(character: string, at: number): number {
    if (character < "@") {
      if (this.#parameters.length < MAX_PARAMETERS) this.#parameters += character;
      return at + 1;
    }
    this.#mode = "text";
    if (character > "~") return at;
    const isWhole = this.#parameters.length < MAX_PARAMETERS;
    if (character === "m" && isWhole && /^[\d;:]*$/.test(this.#parameters)) {
      this.#style = withSgr(this.#style, this.#parameters);
      this.#classes = undefined;
    }
    return at + 1;
  }
}
