/** Code of every page: copy buttons, local times, user menu, confirmations, choices, navigation, finder. */
import { noteChoice, restoreChoices } from "./parts/choices.ts";
import { element, inAccount } from "./parts/element.ts";
import { enhance } from "./parts/enhance.ts";

const PAUSE_MS = 120;
const UNREACHABLE = "Cannot reach Auspex. Check your connection and try again.";

function listenForFinder(): void {
  const link = document.querySelector<HTMLAnchorElement>("[data-finder]");
  const finder = link && new Finder();
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey)
      finder?.toggle(event);
  });
  link?.addEventListener("click", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) finder?.toggle(event);
  });
}

class Finder {
  // An input of type search would be emptied by Escape, which closes the dialog.
  readonly #input = Object.assign(element("input", ""), { maxLength: 50, ariaLabel: "Find" });
  readonly #form = element("form", "", this.#input);
  readonly #found = element("div", "finds");
  readonly #dialog = element("dialog", "find", this.#form, this.#found);
  #former = new AbortController();
  #loading = Promise.resolve();
  #timer = 0;

  constructor() {
    Object.assign(this.#input, { placeholder: "A model or a page", autocomplete: "off" });
    this.#dialog.ariaLabel = "Find";
    this.#found.ariaLive = "polite";
    this.#input.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => this.#load(), PAUSE_MS);
    });
    this.#form.addEventListener("submit", async (event) => {
      event.preventDefault();
      this.#load();
      await this.#loading;
      this.#found.querySelector("a")?.click();
    });
    this.#dialog.addEventListener("keydown", (event) => this.#move(event));
    this.#dialog.addEventListener("click", ({ target }) => {
      if (target === this.#dialog) this.#dialog.close();
    });
  }

  toggle(event: Event): void {
    event.preventDefault();
    if (this.#dialog.open) return this.#dialog.close();
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    this.#input.select();
    this.#load();
  }

  #load(): void {
    clearTimeout(this.#timer);
    this.#former.abort();
    this.#former = new AbortController();
    this.#loading = this.#show(this.#former.signal);
  }

  async #show(signal: AbortSignal): Promise<void> {
    try {
      const query = new URLSearchParams({ q: this.#input.value });
      const html = await (await fetch(inAccount(`/find?${query}`), { signal })).text();
      const page = new DOMParser().parseFromString(html, "text/html");
      this.#found.replaceChildren(...(page.querySelector("[data-found]")?.childNodes ?? []));
    } catch {
      if (!signal.aborted) this.#found.textContent = UNREACHABLE;
    }
  }

  #move(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) {
      if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) this.#input.focus();
      return;
    }
    const stops: HTMLElement[] = [this.#input, ...this.#found.querySelectorAll("a")];
    const at = stops.findIndex((stop) => stop.matches(":focus")) + step;
    stops[Math.max(0, Math.min(at, stops.length - 1))]?.focus();
    event.preventDefault();
  }
}

/**
 * Brings the current place into the middle of a row that scrolls sideways: on a phone it may lie beyond the
 * edge. Measured with the next paint, when whatever else the page's code changes is there: any sooner, the
 * page would be laid out twice.
 */
const showCurrentPlaces = () => void requestAnimationFrame(show);

function show(): void {
  const places = document.querySelectorAll(":is(.main-nav, .tabs) > [aria-current]");
  for (const place of places) {
    const row = place.parentElement;
    // `scrollIntoView` would move the page, too.
    if (row) row.scrollLeft += middleOf(place) - middleOf(row);
  }
}

function middleOf(element: Element): number {
  const { left, width } = element.getBoundingClientRect();
  return left + width / 2;
}

enhance(document);
showCurrentPlaces();
restoreChoices(document);
listenForFinder();

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const button = event.target.closest<HTMLButtonElement>("[data-copy]");
  if (button) void copy(button);
  const menu = document.querySelector<HTMLDetailsElement>("details.menu[open]");
  if (menu && !menu.contains(event.target)) menu.open = false;
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector<HTMLDetailsElement>("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary")?.focus();
});

document.addEventListener("submit", (event) => {
  const question = event.target instanceof HTMLElement && event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});

document.addEventListener("change", ({ target }) => noteChoice(target));

const COPIED_MS = 2_000;

async function copy(button: HTMLButtonElement): Promise<void> {
  const source = button.parentElement?.querySelector("code");
  if (!source) return;
  const text = button.dataset.copy || source.textContent;
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // The text is selected instead if clipboard access is denied or the origin is not secure.
    getSelection()?.selectAllChildren(source);
    button.textContent = "Press Ctrl+C";
  }
  setTimeout(() => {
    button.textContent = label;
  }, COPIED_MS);
}
