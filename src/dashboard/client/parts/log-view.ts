/** The log: keeps the last lines, and says how many earlier ones were dropped. */

import { MAX_CHARS, MAX_LOG_LINES } from "../../../domain/predictions/display-limits.ts";
import { TerminalText } from "../../../domain/predictions/terminal-text.ts";
import { logNote } from "../../prediction-view/log-note.ts";
import { TextBuffer } from "./text-buffer.ts";

/** A text node per flush, so that dropping the first does not touch the others. */
interface Piece {
  node: Text;
  lines: number;
}

export class LogView {
  readonly #box: HTMLElement | null;
  readonly #note: HTMLElement | null;
  readonly #pieces: Piece[] = [];
  readonly #buffer = new TextBuffer((text) => this.#append(text));
  readonly #terminal: TerminalText;
  #hidden: number;
  #torn: boolean;
  #lines = 0;
  #chars = 0;

  constructor(root: HTMLElement) {
    this.#box = root.querySelector("[data-logs]");
    this.#note = root.querySelector("[data-logs-hidden]");
    this.#hidden = Number(this.#box?.dataset.hidden ?? 0);
    this.#torn = this.#box?.dataset.torn !== undefined;
    this.#terminal = new TerminalText(this.#box?.dataset.returned !== undefined);
    for (const node of this.#box?.childNodes ?? []) if (node instanceof Text) this.#count(node);
  }

  add(text: string): void {
    this.#buffer.add(text);
  }

  flush(): void {
    this.#buffer.flush();
  }

  #append(piece: string): void {
    const box = this.#box;
    const { over, text } = this.#terminal.add(piece);
    if (!box || (text === "" && !over)) return;
    // Follows the log only when it is scrolled to its end.
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    if (over) this.#eraseLine();
    const node = new Text(text);
    box.append(node);
    this.#count(node);
    this.#drop();
    if (atEnd) box.scrollTop = box.scrollHeight;
  }

  #count(node: Text): void {
    const lines = linesIn(node.data);
    this.#pieces.push({ node, lines });
    this.#lines += lines;
    this.#chars += node.length;
  }

  /** Removes the line that is not ended. */
  #eraseLine(): void {
    for (let piece = this.#pieces.at(-1); piece; piece = this.#pieces.at(-1)) {
      const { node } = piece;
      const end = node.data.lastIndexOf("\n") + 1;
      this.#chars -= node.length - end;
      node.deleteData(end, node.length - end);
      if (end > 0) return;
      node.remove();
      this.#pieces.pop();
    }
  }

  /** Drops text from the beginning: whole pieces, then whole lines of the next. */
  #drop(): void {
    let dropped = false;
    while (this.#lines > MAX_LOG_LINES || this.#chars > MAX_CHARS) {
      const [first] = this.#pieces;
      if (!first) break;
      const { node, lines } = first;
      const whole = this.#lines - lines >= MAX_LOG_LINES || this.#chars - node.length >= MAX_CHARS;
      const end = whole ? node.length : this.#endOfSurplus(node.data);
      const droppedLines = linesIn(node.data.slice(0, end));
      this.#torn = node.data[end - 1] !== "\n";
      dropped = true;
      this.#hidden += droppedLines;
      this.#lines -= droppedLines;
      this.#chars -= end;
      first.lines -= droppedLines;
      if (end < node.length) node.deleteData(0, end);
      else {
        node.remove();
        this.#pieces.shift();
      }
    }
    if (!this.#note || !dropped) return;
    this.#note.hidden = false;
    this.#note.textContent = logNote(this.#hidden, this.#torn);
  }

  /** The end of the text to drop. */
  #endOfSurplus(text: string): number {
    let end = Math.max(0, this.#chars - MAX_CHARS);
    for (let lines = this.#lines - linesIn(text.slice(0, end)); lines > MAX_LOG_LINES; lines--)
      end = text.indexOf("\n", end) + 1;
    return end;
  }
}

const linesIn = (text: string) => text.split("\n").length - 1;
