/** Looks for lines of the log as one types. */
import {
  ANY_LINE,
  isAnyLine,
  LOG_LEVELS,
  type LogQuery,
} from "../../../domain/predictions/log-search.ts";
import { foundNote } from "../../prediction-view/log-note.ts";
import { updateLine } from "./log-line.ts";

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

  /** Shows the number of lines. */
  count(): void {
    const place = this.#form?.querySelector("[data-found]");
    const { query } = this;
    const lines = isAnyLine(query) ? [] : this.#lines;
    const text = foundNote(
      lines.filter(({ hidden }) => !hidden).length,
      lines.length,
      isAnyLine(query),
    );
    // Screen readers would read an unchanged text out again.
    if (place && place.textContent !== text) place.textContent = text;
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
