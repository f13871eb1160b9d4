/** The page of one prediction: keeps its view live, then its webhook deliveries. */
import { loadCurrentPage } from "./parts/current-page.ts";
import { enhance } from "./parts/enhance.ts";
import { attachTrees } from "./parts/json-tree.ts";
import { MarkdownMode } from "./parts/markdown.ts";
import { attachPrediction } from "./parts/prediction-view.ts";
import { replaceElement } from "./parts/replace-element.ts";

attachTrees(document);
for (const view of document.querySelectorAll<HTMLElement>("[data-prediction]"))
  attachPrediction(view);
// A shared prediction has no view that could be live.
for (const output of document.querySelectorAll<HTMLElement>("[data-shared]"))
  new MarkdownMode(output);

/** Polling of pending deliveries: the delay doubles from the first to the last while nothing changes. */
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 60_000;

let timer: number | undefined;

/** Replaces the parts that depend on the end: webhooks and the form that removes data. */
async function refreshDeliveries(wait: number): Promise<void> {
  clearTimeout(timer);
  const old = document.querySelector<HTMLElement>("[data-after-end]");
  const page = await loadCurrentPage();
  let next = Math.min(2 * wait, MAX_WAIT_MS);
  if (page) {
    const now = page.querySelector<HTMLElement>("[data-after-end]");
    if (!old || !now) return;
    enhance(now);
    replaceElement(old, now);
    if (now.isConnected) next = FIRST_WAIT_MS;
  }
  schedule(next);
}

function schedule(wait: number): void {
  clearTimeout(timer);
  const isOver = !document.querySelector("[data-prediction][data-live]");
  if (!isOver || document.hidden || !document.querySelector("[data-after-end] [data-pending]"))
    return;
  timer = window.setTimeout(() => void refreshDeliveries(wait), wait);
}

document.addEventListener("prediction-ended", () => void refreshDeliveries(FIRST_WAIT_MS));
document.addEventListener("visibilitychange", () => schedule(FIRST_WAIT_MS));
schedule(FIRST_WAIT_MS);
