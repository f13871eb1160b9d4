/**
 * The conversations of this tab. Each is a step of the browser's history, which keeps its name: Back
 * leads to the one before, as it was left.
 */
import { isObject } from "../../../../lib/json.ts";
import { store } from "../choices.ts";
import { runInAddress } from "../run-steps.ts";

/** Prefix of keys. The name that follows is a time, so the oldest conversation sorts first. */
const KEPT = "auspex.chat.2:";

export class Conversations {
  readonly #scope: string;
  #name: string;

  /** Goes on with that of the step, or else with the last of the place unless a run is opened there. */
  constructor({ user, model }: DOMStringMap) {
    this.#scope = `${user}:${model}`;
    // An address that is entered where one is already would take the place of the step.
    if (opensRun() && isEntered() && nameIn(history.state) !== undefined)
      history.pushState(null, "");
    const last = opensRun() ? null : sessionStorage.getItem(this.#lastKey);
    this.#name = nameIn(history.state) ?? last ?? newName();
    this.#enter();
    addEventListener("popstate", ({ state }) => {
      const name = nameIn(state);
      // An anchor of the page is a step that nobody has named.
      if (name === undefined) this.#enter();
      else if (name !== this.#name) location.reload();
    });
  }

  get kept(): string | null {
    return sessionStorage.getItem(this.#key);
  }

  /** A text that is too long by itself, or that the browser does not store, is not kept. */
  keep(text: string): void {
    while (!store(sessionStorage, this.#key, text)) {
      const [oldest] = Object.keys(sessionStorage)
        .filter((key) => key.startsWith(KEPT) && key !== this.#key)
        .toSorted();
      if (oldest === undefined) return;
      sessionStorage.removeItem(oldest);
    }
  }

  /** Begins another conversation. @param address that leads to it */
  begin(address: string): void {
    history.pushState(null, "", address);
    this.#name = newName();
    this.#enter();
  }

  /** The run of the address is opened as it was: a link to where one is would take the place of this step. */
  openAgain(): void {
    history.pushState(null, "");
    location.reload();
  }

  #enter(): void {
    history.replaceState({ conversation: this.#name }, "");
    store(sessionStorage, this.#lastKey, this.#name);
  }

  get #key(): string {
    return `${KEPT}${this.#name}:${this.#scope}`;
  }

  get #lastKey(): string {
    return `auspex.chat.last:${this.#scope}:${runInAddress() ?? ""}`;
  }
}

/** A link between views and versions, which names a version, does not. */
function opensRun(): boolean {
  const query = new URLSearchParams(location.search);
  return query.has("prediction") && !query.has("version");
}

/** Whether the page was opened or reached by a link, not by a reload, Back or Forward. */
function isEntered(): boolean {
  const [entry] = performance.getEntriesByType("navigation");
  return entry instanceof PerformanceNavigationTiming && entry.type === "navigate";
}

const newName = (): string => String(Date.now());

const nameIn = (state: unknown): string | undefined =>
  isObject(state) && typeof state.conversation === "string" ? state.conversation : undefined;
