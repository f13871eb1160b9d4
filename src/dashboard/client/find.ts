/**
 * A dialog with the list of the page /find, which answers as one types. Arrows move through it, Enter opens
 * the first. parts/finder.ts loads this.
 */
import { element } from "./parts/element.ts";

const PATH = "/find";
/** A pause in typing, ms. */
const PAUSE_MS = 120;

class Finder {
  readonly #dialog = element("dialog", "find");
  readonly #input = element("input", "");
  readonly #found = element("div", "finds");
  readonly #said = element("p", "visually-hidden");
  /** The query whose results are shown, or on their way. */
  #query: string | undefined;
  #loading = Promise.resolve();
  #former = new AbortController();
  #timer: number | undefined;

  constructor() {
    Object.assign(this.#input, {
      // Escape would empty one of type search, and not close the dialog.
      type: "text",
      enterKeyHint: "search",
      name: "q",
      maxLength: 50,
      placeholder: "A page, an action, a model, the ID of a prediction",
      autocomplete: "off",
      ariaLabel: "Find",
    });
    this.#said.role = "status";
    const form = element("form", "", this.#input);
    this.#dialog.ariaLabel = "Find";
    this.#dialog.append(form, this.#found, this.#said);
    document.body.append(this.#dialog);
    this.#input.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => this.#load(), PAUSE_MS);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#openFirst();
    });
    this.#dialog.addEventListener("keydown", (event) => this.#move(event));
    // A form further down on the same page is no reason to load that, which would have closed this.
    this.#found.addEventListener("click", ({ target }) => {
      const link = target instanceof Element && target.closest("a");
      if (link && link.pathname === location.pathname) this.#dialog.close();
    });
    // The dialog's own area is covered by what is in it.
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close();
    });
  }

  /** @param typed already */
  toggle(typed: string): void {
    if (this.#dialog.open) return this.#dialog.close();
    this.#dialog.showModal();
    if (typed === "") this.#input.select();
    else this.#input.value = typed;
    this.#query = undefined;
    this.#load();
  }

  #load(): void {
    const query = this.#input.value.trim();
    if (query === this.#query) return;
    this.#query = query;
    this.#former.abort();
    this.#former = new AbortController();
    this.#loading = this.#show(query, this.#former.signal);
  }

  async #show(query: string, signal: AbortSignal): Promise<void> {
    try {
      const response = await fetch(`${PATH}?q=${encodeURIComponent(query)}`, { signal });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const found = page.querySelector("[data-found]");
      if (!found) throw new Error(`${PATH} answered ${response.status}`);
      signal.throwIfAborted();
      this.#found.replaceChildren(...found.childNodes);
      const { length } = this.#links();
      this.#said.textContent = length === 1 ? "1 result" : `${length} results`;
    } catch {
      if (signal.aborted) return;
      this.#query = undefined;
      this.#found.replaceChildren(
        element("p", "", "No answer. Check your connection, and try again."),
      );
    }
  }

  async #openFirst(): Promise<void> {
    clearTimeout(this.#timer);
    this.#load();
    let loading: Promise<void>;
    // What is typed meanwhile is looked for, too.
    do {
      loading = this.#loading;
      await loading;
    } while (loading !== this.#loading);
    this.#links()[0]?.click();
  }

  /** What can be opened, or done. */
  #links(): HTMLElement[] {
    return [...this.#found.querySelectorAll<HTMLElement>("a, button")];
  }

  #move(event: KeyboardEvent): void {
    const stops = [this.#input, ...this.#links()];
    const at = stops.findIndex((stop) => stop.matches(":focus"));
    if (event.key === "ArrowDown") stops[Math.min(at + 1, stops.length - 1)]?.focus();
    else if (event.key === "ArrowUp") stops[Math.max(at - 1, 0)]?.focus();
    else {
      const isTyping = event.key.length === 1 || event.key === "Backspace";
      // It goes on where it was.
      if (isTyping && !event.ctrlKey && !event.metaKey) this.#input.focus();
      return;
    }
    event.preventDefault();
  }
}

let finder: Finder | undefined;

export function toggleFinder(typed: string): void {
  finder ??= new Finder();
  finder.toggle(typed);
}
