/** Keeps the words up to date that say why a prediction does not run yet. */
import { replaceElement } from "./replace-element.ts";

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
