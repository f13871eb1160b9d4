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

/** After a run: its container is warm, the run is counted, and nothing waits any more. */
export async function refreshFacts(): Promise<void> {
  const page = await loadCurrentPage();
  const [now, old] = [page, document].map((one) =>
    one?.querySelector<HTMLElement>("[data-expected]"),
  );
  if (old && now) replaceElement(old, now);
}
