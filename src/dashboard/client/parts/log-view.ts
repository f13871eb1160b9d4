/** The log: keeps the last lines, and says how many earlier ones were dropped. */

import { LogTail, newLine, type TailState } from "../../../domain/predictions/log-tail.ts";
import { NEW_TERMINAL } from "../../../domain/predictions/terminal.ts";
import { logNote } from "../../prediction-view/log-note.ts";
import { lineElement, lineIn } from "./log-line.ts";
import { LogSearch } from "./log-search.ts";
import { TextBuffer } from "./text-buffer.ts";

export class LogView {
  readonly #box: HTMLElement | null;
  readonly #note: HTMLElement | null;
  readonly #search: LogSearch;
  readonly #tail: LogTail;
  readonly #buffer = new TextBuffer((text) => this.#append(text));
  #hidden: number;
  /** When what comes next was logged is not known. */
  #isLate = false;
  /** By how much the service's clock is ahead of this one. */
  readonly #ahead: number;

  constructor(root: HTMLElement) {
    this.#box = root.querySelector("[data-logs]");
    this.#note = root.querySelector("[data-logs-hidden]");
    this.#search = LogSearch.of(root);
    this.#ahead = Number(root.dataset.now) - Date.now();
    const state = stateIn(this.#box);
    this.#hidden = state.hidden;
    this.#tail = new LogTail(state, linesIn(this.#box));
    // Whoever comes to a run that is under way looks for what is new.
    if (this.#box && root.dataset.live !== undefined) this.#box.scrollTop = this.#box.scrollHeight;
  }

  add(text: string): void {
    this.#buffer.add(text);
  }

  flush(): void {
    this.#buffer.flush();
  }

  /** The stream is lost: what comes when it goes on may be old. */
  lost(): void {
    this.#isLate = true;
  }

  #append(text: string): void {
    const box = this.#box;
    if (!box) return;
    // Follows the log only when it is scrolled to its end.
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    this.#tail.add(text, this.#isLate ? null : Date.now() + this.#ahead);
    this.#isLate = false;
    this.#tail.cut();
    this.#show(box);
    if (atEnd) box.scrollTop = box.scrollHeight;
  }

  #show(box: HTMLElement): void {
    const { lines, state } = this.#tail;
    // What follows the last end of a line has no element.
    const shown = lines.at(-1)?.segments.length === 0 ? lines.slice(0, -1) : lines;
    const changed = Math.max(0, this.#tail.takeChanged() - (lines.length - shown.length));
    for (; this.#hidden < state.hidden; this.#hidden++) box.firstElementChild?.remove();
    while (box.childElementCount > shown.length - changed) box.lastElementChild?.remove();
    for (const line of shown.slice(shown.length - changed))
      box.append(lineElement(line, box.lastElementChild, this.#search.query));
    this.#search.count();
    if (!this.#note || (state.hidden === 0 && !state.torn)) return;
    this.#note.hidden = false;
    this.#note.textContent = logNote(state.hidden, state.torn);
  }
}

function stateIn(box: HTMLElement | null): TailState {
  const { state, hidden, torn } = box?.dataset ?? {};
  return {
    returned: false,
    terminal: NEW_TERMINAL,
    ...(state !== undefined && JSON.parse(state)),
    hidden: Number(hidden ?? 0),
    torn: torn !== undefined,
  };
}

function linesIn(box: HTMLElement | null) {
  const lines = [...(box?.children ?? [])].map(lineIn);
  return box?.dataset.open === undefined ? [...lines, newLine()] : lines;
}
