import { loadCurrentPage } from "./current-page.ts";
import { replaceElement } from "./replace-element.ts";

/** After a run: its container is warm, the run is counted, and nothing waits any more. */
export async function refreshFacts(): Promise<void> {
  const page = await loadCurrentPage();
  const [now, old] = [page, document].map((one) =>
    one?.querySelector<HTMLElement>("[data-expected]"),
  );
  if (old && now) replaceElement(old, now);
}
