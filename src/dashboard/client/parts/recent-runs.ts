/** Keeps the list of recent runs up to date: after each run and end, and while one is under way. */
import { enhance } from "./enhance.ts";
import { replaceElement } from "./replace-element.ts";

/** While one is under way; the end of the run that is shown is known at once. */
const LIVE_MS = 3_000;

export class RecentRuns {
  readonly #root: HTMLElement;
  #timer: number | undefined;
  #loading: Promise<void> | undefined;

  constructor(root: HTMLElement) {
    this.#root = root;
    document.addEventListener("prediction-status", () => this.#agree());
    document.addEventListener("prediction-ended", () => this.refresh());
    document.addEventListener("visibilitychange", () => this.refresh());
    this.refresh();
  }

  refresh(): void {
    clearTimeout(this.#timer);
    this.#agree();
    if (document.hidden || !this.#list) return;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
      if (this.#list?.dataset.live !== undefined)
        this.#timer = window.setTimeout(() => this.refresh(), LIVE_MS);
    });
  }

  get #list(): HTMLElement | null {
    return this.#root.querySelector("[data-recent]");
  }

  get #shown(): HTMLElement | null {
    return this.#root.querySelector("[data-prediction]");
  }

  /** The run that is shown is the current one, and what it says of itself is newer than the list. */
  #agree(): void {
    const { prediction } = this.#shown?.dataset ?? {};
    const status = this.#shown?.querySelector(".prediction-head .status")?.textContent ?? "";
    for (const link of this.#list?.querySelectorAll<HTMLAnchorElement>("li > a") ?? []) {
      const isShown = new URL(link.href).searchParams.get("prediction") === prediction;
      link.ariaCurrent = isShown ? "page" : null;
      const badge = link.querySelector(".status");
      const text = badge?.querySelector(".visually-hidden");
      if (!isShown || !badge || !text || text.textContent === status) continue;
      badge.className = `status ${status}`;
      text.textContent = status;
    }
  }

  /** What cannot be loaded now stays as it is. */
  async #load(): Promise<void> {
    const address = `${this.#list?.dataset.recent}&prediction=${this.#shown?.dataset.prediction ?? ""}`;
    const response = await fetch(address).catch(() => undefined);
    if (!response?.ok || response.redirected) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const now = page.querySelector<HTMLElement>("[data-recent]");
    const old = this.#list;
    if (!now || !old) return;
    enhance(now);
    const { scrollLeft = 0 } = old.firstElementChild ?? {};
    replaceElement(old, now);
    this.#agree();
    this.#list?.firstElementChild?.scrollTo({ left: scrollLeft });
  }
}
