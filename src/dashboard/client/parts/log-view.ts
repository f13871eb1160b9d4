/** The log: keeps the last lines, and says how many earlier ones were dropped. */

import { LOG_LEVELS, type LogLevel, levelOf } from "../../../domain/predictions/log-level.ts";
import { type LogLine, LogTail, newLine } from "../../../domain/predictions/log-tail.ts";
import { plainText, segmentsOf } from "../../../domain/predictions/log-text.ts";
import { logNote } from "../../prediction-view/log-note.ts";
import { element } from "./element.ts";
import { clockText } from "./enhance.ts";
import { TextBuffer } from "./output-view.ts";

export class LogView {
  readonly #box: HTMLElement | null;
  readonly #note: HTMLElement | null;
  readonly #tail: LogTail;
  readonly #buffer = new TextBuffer((text) => this.#append(text));
  #hidden: number;
  /** Whether the time at which the next text was logged is unknown. */
  #isLate = false;
  /** Time by which the service's clock is ahead of the browser's. */
  readonly #ahead: number;

  constructor(root: HTMLElement) {
    this.#box = root.querySelector("[data-logs]");
    this.#note = root.querySelector("[data-logs-hidden]");
    this.#ahead = Number(root.dataset.now) - Date.now();
    const { hidden, torn } = this.#box?.dataset ?? {};
    this.#hidden = Number(hidden ?? 0);
    const state = { hidden: this.#hidden, torn: torn !== undefined };
    this.#tail = new LogTail(state, linesIn(this.#box));
    // A reader who opens a run that is under way looks for the newest lines.
    if (this.#box && root.dataset.live !== undefined) this.#box.scrollTop = this.#box.scrollHeight;
  }

  add(text: string): void {
    this.#buffer.add(text);
  }

  flush(): void {
    this.#buffer.flush();
  }

  /** The stream is lost, and lines that come after it goes on may be old. */
  lost(): void {
    this.#isLate = true;
  }

  #append(text: string): void {
    const box = this.#box;
    if (!box) return;
    // Follows the log only when it is scrolled to its end.
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    const from = this.#tail.state.hidden + this.#tail.lines.length - 1;
    this.#tail.add(text, this.#isLate ? null : Date.now() + this.#ahead);
    this.#isLate = false;
    this.#tail.cut();
    this.#show(box, from);
    if (atEnd) box.scrollTop = box.scrollHeight;
  }

  /** @param from the number of the first line that has changed, counted from the beginning of the log */
  #show(box: HTMLElement, from: number): void {
    const { lines, state } = this.#tail;
    while (this.#hidden + box.childElementCount > from) box.lastElementChild?.remove();
    for (; this.#hidden < state.hidden; this.#hidden++) box.firstElementChild?.remove();
    const [first, last] = [lines[0], lines.at(-1)];
    if (state.torn && first) box.firstElementChild?.replaceWith(lineElement(first, null));
    for (const line of lines.slice(Math.max(0, from - state.hidden)))
      if (line !== last || plainText(line.text) !== "")
        box.append(lineElement(line, box.lastElementChild));
    if (!this.#note || (state.hidden === 0 && !state.torn)) return;
    this.#note.hidden = false;
    this.#note.textContent = logNote(state.hidden, state.torn);
  }
}

/** `data-last` is the last line as the container wrote it, which the next text continues or writes over. */
function linesIn(box: HTMLElement | null) {
  const lines = [...(box?.children ?? [])].map(lineIn);
  const text = box?.dataset.last ?? "";
  const last = plainText(text) === "" ? newLine() : lines.pop();
  return [...lines, { at: last?.at ?? null, text }];
}

function lineElement(line: LogLine, before: Element | null): HTMLElement {
  const nodes = segmentsOf(line.text).map(({ text, style }) =>
    style === "" ? text : element("b", style, text),
  );
  const level = levelOf(plainText(line.text), levelIn(before));
  const created = element("span", "line", element("span", "", ...nodes));
  if (level) created.dataset.level = level;
  if (line.at !== null) {
    const time = element("time", "", clockText(new Date(line.at)));
    time.dateTime = new Date(line.at).toISOString();
    time.dataset.clock = "";
    created.prepend(time);
  }
  return created;
}

/** Reads a line back from an element that the server or `lineElement` has made. */
const lineIn = (line: Element): LogLine => {
  const time = line.querySelector("time");
  const text = line.querySelector(":scope > span")?.textContent ?? "";
  return { text, at: time && Date.parse(time.dateTime) };
};

function levelIn(line: Element | null): LogLevel | undefined {
  const name = line?.getAttribute("data-level");
  return LOG_LEVELS.find((level) => level === name);
}
