/** The page of one prediction: its run goes on, and what follows from its end comes with it. */
import { enhance } from "./parts/enhance.ts";
import { growTrees } from "./parts/json-tree.ts";
import { attachPrediction } from "./parts/prediction-view.ts";
import { renew } from "./parts/renew.ts";

growTrees(document);
for (const run of document.querySelectorAll<HTMLElement>("[data-run]")) attachPrediction(run);

/** Between two looks at deliveries that are under way: at first, and when nothing happens. */
const SOON_MS = 1_000;
const LATE_MS = 60_000;

let timer: number | undefined;

/** Webhooks, and what can be done with what has ended. */
async function follow(wait: number): Promise<void> {
  clearTimeout(timer);
  const old = document.querySelector<HTMLElement>("[data-after]");
  // The next time it may be there again: nothing is lost that would have to be said.
  const response = await fetch(location.href).catch(() => undefined);
  let next = Math.min(2 * wait, LATE_MS);
  if (response?.ok && !response.redirected) {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const now = page.querySelector<HTMLElement>("[data-after]");
    if (!old || !now) return;
    enhance(now);
    renew(old, now);
    if (now.isConnected) next = SOON_MS;
  }
  schedule(next);
}

function schedule(wait: number): void {
  clearTimeout(timer);
  const isOver = !document.querySelector("[data-run][data-live]");
  if (!isOver || document.hidden || !document.querySelector("[data-after] [data-waits]")) return;
  timer = window.setTimeout(() => void follow(wait), wait);
}

document.addEventListener("run-ended", () => void follow(SOON_MS));
document.addEventListener("visibilitychange", () => schedule(SOON_MS));
schedule(SOON_MS);
