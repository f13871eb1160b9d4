import { loadCurrentPage } from "./current-page.ts";
import { replaceElement } from "./replace-element.ts";

/** Runners come and go meanwhile. */
const KEPT_MS = 60_000;

/** While the page is looked at, and as soon as it is looked at again. */
export function keepFacts(): void {
  const refresh = () => {
    if (!document.hidden) void refreshFacts();
  };
  document.addEventListener("visibilitychange", refresh);
  window.setInterval(refresh, KEPT_MS);
}

/** A pool hears of a container as soon as its runner polls. */
const HEARD_MS = 1_000;

let told: string | undefined;
let timer: number | undefined;

/**
 * With a run that starts a container has come, and with one that waits again it is gone: a header that says
 * otherwise asks.
 */
export function agreeFacts(status: string): void {
  const isLost = told === "started" && status === "pending";
  told = status;
  if (isLost) void refreshFacts();
  if (status !== "started" || !saysCold() || timer !== undefined) return;
  timer = window.setTimeout(() => {
    timer = undefined;
    if (saysCold()) void refreshFacts();
  }, HEARD_MS);
}

const saysCold = () =>
  document.querySelector("[data-expected] :is(.status.cold, .status.offline)") !== null;

/** After a run: its container is warm, the run is counted, and nothing waits any more. */
export async function refreshFacts(): Promise<void> {
  const page = await loadCurrentPage();
  const [now, old] = [page, document].map((one) =>
    one?.querySelector<HTMLElement>("[data-expected]"),
  );
  if (old && now) replaceElement(old, now);
}
