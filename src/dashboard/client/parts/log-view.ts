/** The log: keeps the last lines, and says how many earlier ones were dropped. */

import {
  ANY_LINE,
  isAnyLine,
  isWanted,
  LOG_LEVELS,
  type LogLevel,
  type LogQuery,
  levelOf,
  withHits,
} from "../../../domain/predictions/log-search.ts";
import { type LogLine, LogTail, newLine } from "../../../domain/predictions/log-tail.ts";
import { plainText, type Segment, segmentsOf } from "../../../domain/predictions/log-text.ts";
import { foundNote, logNote } from "../../prediction-view/log-note.ts";
import { element } from "./element.ts";
import { clockText } from "./enhance.ts";
import { TextBuffer } from "./output-view.ts";

export class LogView {
  readonly #box: HTMLElement | null;
  readonly #note: HTMLElement | null;
  readonly #search: LogSearch;
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
    this.#search = LogSearch.of(root);
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
    if (state.torn && first)
      box.firstElementChild?.replaceWith(lineElement(first, null, this.#search.query));
    for (const line of lines.slice(Math.max(0, from - state.hidden)))
      if (line !== last || plainText(line.text) !== "")
        box.append(lineElement(line, box.lastElementChild, this.#search.query));
    this.#search.count();
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

function lineElement(line: LogLine, before: Element | null, query: LogQuery): HTMLElement {
  const segments = segmentsOf(line.text);
  const text = textOf(segments);
  const level = levelOf(text, levelIn(before));
  const created = element("span", "line", element("span", "", ...nodesOf(segments, query)));
  if (level) created.dataset.level = level;
  created.hidden = !isWanted(text, level, query);
  if (line.at !== null) {
    const time = element("time", "", clockText(new Date(line.at)));
    time.dateTime = new Date(line.at).toISOString();
    time.dataset.clock = "";
    created.prepend(time);
  }
  return created;
}

/** Shows or hides a line by the current search, and marks its hits. @returns whether it is shown */
export function updateLine(line: HTMLElement, query: LogQuery): boolean {
  const segments = segmentsIn(line);
  const text = textOf(segments);
  line.hidden = !isWanted(text, levelIn(line), query);
  const hasHits = line.querySelector("mark") !== null;
  if (hasHits || (!line.hidden && query.find !== ""))
    contentOf(line)?.replaceChildren(...nodesOf(segments, query));
  return !line.hidden;
}

/** Reads a line back from an element that the server or `lineElement` has made. */
const lineIn = (line: Element): LogLine => {
  const time = line.querySelector("time");
  return { text: contentOf(line)?.textContent ?? "", at: time && Date.parse(time.dateTime) };
};

function segmentsIn(line: Element): Segment[] {
  const segments: Segment[] = [];
  for (const node of contentOf(line)?.childNodes ?? []) {
    const style = node instanceof HTMLElement && node.localName === "b" ? node.className : "";
    const last = segments.at(-1);
    if (last?.style === style) last.text += node.textContent ?? "";
    else segments.push({ text: node.textContent ?? "", style });
  }
  return segments;
}

const textOf = (segments: Segment[]) => segments.map(({ text }) => text).join("");

const contentOf = (line: Element) => line.querySelector(":scope > span");

function levelIn(line: Element | null): LogLevel | undefined {
  const name = line?.getAttribute("data-level");
  return LOG_LEVELS.find((level) => level === name);
}

const nodesOf = (segments: Segment[], { find }: LogQuery): (string | Node)[] =>
  withHits(segments, find).map(({ text, style, hit }) => {
    const content = hit ? element("mark", "", text) : text;
    return style === "" ? content : element("b", style, content);
  });

const attached = new WeakMap<HTMLElement, LogSearch>();

export class LogSearch {
  readonly #root: HTMLElement;
  readonly #form: HTMLFormElement | null;

  /** The search of a view, which stays when the view is no longer live. */
  static of(root: HTMLElement): LogSearch {
    const search = attached.get(root) ?? new LogSearch(root);
    attached.set(root, search);
    return search;
  }

  private constructor(root: HTMLElement) {
    this.#root = root;
    this.#form = root.querySelector("[data-log-tools]");
    const button = this.#form?.querySelector<HTMLButtonElement>("[data-find]");
    if (button) button.hidden = true;
    this.#form?.addEventListener("submit", (event) => event.preventDefault());
    this.#form?.addEventListener("input", () => this.update());
  }

  get query(): LogQuery {
    if (!this.#form) return ANY_LINE;
    const values = new FormData(this.#form);
    const level = values.get("level");
    return {
      find: String(values.get("find") ?? ""),
      level: LOG_LEVELS.find((one) => one === level),
    };
  }

  count(): void {
    const count = this.#form?.querySelector("[data-found]");
    const { query } = this;
    const lines = isAnyLine(query) ? [] : this.#lines;
    const text = foundNote(
      lines.filter(({ hidden }) => !hidden).length,
      lines.length,
      isAnyLine(query),
    );
    // Screen readers would read an unchanged text out again.
    if (count && count.textContent !== text) count.textContent = text;
  }

  update(): void {
    const { query } = this;
    for (const line of this.#lines) updateLine(line, query);
    this.count();
  }

  get #lines(): HTMLElement[] {
    return [...this.#root.querySelectorAll<HTMLElement>("[data-logs] > .line")];
  }
}
