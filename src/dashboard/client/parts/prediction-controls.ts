/** The button that cancels the run of a view. */

import { longDuration } from "../../ui/duration.ts";
import { messageOf, post } from "./post.ts";
import { replaceElement } from "./replace-element.ts";

interface Options {
  onSent: () => void;
  /** @param message that can be shown */
  onFailed: (message: string) => void;
}

export class CancelForm {
  readonly #root: HTMLElement;
  readonly #options: Options;
  #isSent = false;

  constructor(root: HTMLElement, options: Options) {
    this.#root = root;
    this.#options = options;
    root.addEventListener("submit", this.#submit);
  }

  /** Whether a cancel was requested; a response that the server sent before does not show it. */
  get isSent(): boolean {
    return this.#isSent;
  }

  close(): void {
    this.#root.removeEventListener("submit", this.#submit);
  }

  readonly #submit = async (event: SubmitEvent): Promise<void> => {
    if (!(event.target instanceof HTMLFormElement)) return;
    const button = event.target.querySelector<HTMLButtonElement>("[data-cancel]");
    if (!button) return;
    event.preventDefault();
    button.disabled = true;
    button.textContent = "Canceling…";
    this.#isSent = true;
    try {
      await post(event.target.action);
      this.#options.onSent();
    } catch (error) {
      this.#isSent = false;
      button.disabled = false;
      button.textContent = "Cancel";
      this.#options.onFailed(messageOf(error));
    }
  };
}

/** @param root has `data-now`, the server time when rendered, and contains `data-since`, both unix ms. @returns stops it */
export function showElapsed(root: HTMLElement): () => void {
  const ahead = Number(root.dataset.now) - Date.now();
  const show = () => {
    for (const clock of root.querySelectorAll<HTMLElement>("[data-since]")) {
      const ms = Date.now() + ahead - Number(clock.dataset.since);
      clock.textContent = longDuration(Math.max(0, Math.floor(ms / 1000)));
    }
  };
  show();
  const timer = setInterval(show, 500);
  return () => clearInterval(timer);
}

const REFRESH_MS = 5_000;
const ANSWER_MS = 10_000;

/**
 * @param root the rendered view
 * @param address of the prediction
 * @returns stops it
 */
export function keepExplained(root: HTMLElement, address: string): () => void {
  const stop = new AbortController();
  const refresh = async () => {
    // Steps bring the part as well: it is empty once the model runs.
    if (document.hidden || !root.querySelector("[data-why]")) return;
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(ANSWER_MS)]);
    const response = await fetch(`${address}/why`, { signal });
    if (!response.ok || response.redirected) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const [old, now] = [root, page].map((one) =>
      one.querySelector<HTMLElement>('[data-part="why"]'),
    );
    // The part is empty if a step has come meanwhile, and a step is newer than this response.
    if (old?.querySelector("[data-why]") && now) replaceElement(old, now);
  };
  const timer = setInterval(() => void refresh().catch(() => {}), REFRESH_MS);
  return () => {
    clearInterval(timer);
    stop.abort();
  };
}
