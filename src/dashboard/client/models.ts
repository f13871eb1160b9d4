/** Searches models while the user types. The address changes without a history step: Back leaves the page. */
import { notice, RECONNECTING } from "./parts/current-page.ts";
import { inAccount } from "./parts/element.ts";
import { enhance } from "./parts/enhance.ts";

const PAUSE_MS = 200;

/** Time limit of a search on a connection that is gone. */
const AGAIN_MS = 3_000;

const field = document.querySelector<HTMLInputElement>("[data-search]");
const status = document.querySelector<HTMLElement>("[data-found]");
let timer: number | undefined;
let asking: AbortController | undefined;
let shown = field?.value ?? "";

function addressOf(q: string): string {
  return inAccount(q === "" ? "/models" : `/models?q=${encodeURIComponent(q)}`);
}

async function search(q: string): Promise<void> {
  asking?.abort();
  if (q === shown) return notice(undefined);
  asking = new AbortController();
  const { signal } = asking;
  try {
    const response = await fetch(addressOf(q), { headers: { accept: "text/html" }, signal });
    if (response.ok && !response.redirected)
      return show(q, new DOMParser().parseFromString(await response.text(), "text/html"), signal);
  } catch {
    if (signal.aborted) return;
  }
  notice(RECONNECTING);
  timer = window.setTimeout(() => void search(q), AGAIN_MS);
}

function show(q: string, page: Document, signal: AbortSignal): void {
  const [list, old] = [page, document].map((one) => one.querySelector("[data-models]"));
  if (signal.aborted || !list || !old) return;
  shown = q;
  notice(undefined);
  enhance(list);
  old.replaceWith(list);
  history.replaceState(history.state, "", addressOf(q));
  document.title = page.title;
  if (status) status.textContent = page.querySelector("[data-found]")?.textContent ?? "";
}

field?.addEventListener("input", () => {
  clearTimeout(timer);
  timer = window.setTimeout(() => void search(field.value.trim()), PAUSE_MS);
});
