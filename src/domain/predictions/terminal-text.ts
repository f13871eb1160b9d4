/** A log as a terminal shows it: without colors, and of a line that is written over only what was written last. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI escapes begin with one
const ANSI_ESCAPES = /\u001b\[[0-9;]*[A-Za-z]/g;

/** A piece of a log. */
interface Piece {
  /** It replaces the line that is not ended. */
  over: boolean;
  text: string;
}

export class TerminalText {
  #returned: boolean;

  /** @param returned as of what came before */
  constructor(returned = false) {
    this.#returned = returned;
  }

  /** The cursor is at the beginning of a line that has text: what follows is written over it. */
  get returned(): boolean {
    return this.#returned;
  }

  add(piece: string): Piece {
    const plain = piece.replace(ANSI_ESCAPES, "");
    if (plain === "") return { over: false, text: "" };
    const all = `${this.#returned ? "\r" : ""}${plain}`.replace(/\r+\n/g, "\n");
    this.#returned = all.endsWith("\r");
    const [first = "", ...others] = all.replace(/\r+$/, "").split("\n");
    return { over: first.includes("\r"), text: [first, ...others].map(lastWritten).join("\n") };
  }
}

const lastWritten = (line: string) => line.slice(line.lastIndexOf("\r") + 1);
