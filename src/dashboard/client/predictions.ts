/** Refreshes the list of predictions, or of deliveries, while the tab is visible. */
import { chooseAll, keepChosen, showChosen } from "./parts/choose-all.ts";
import { loadCurrentPage } from "./parts/current-page.ts";
import { enhance } from "./parts/enhance.ts";
import { keepFocus, replaceElement } from "./parts/replace-element.ts";

/** While a prediction is unfinished; otherwise only the first page is refreshed, for new ones. */
const LIVE_MS = 2_000;
/** Runs of a few seconds are seen before they have ended. */
const IDLE_MS = 3_000;

let timer: number | undefined;

function schedule(): void {
  clearTimeout(timer);
  const list = document.querySelector<HTMLElement>("[data-list]");
  if (!list || document.hidden) return;
  const live = list.querySelector("[data-live]") !== null;
  if (live || list.dataset.first !== undefined) {
    timer = window.setTimeout(refresh, live ? LIVE_MS : IDLE_MS);
  }
}

async function refresh(): Promise<void> {
  const page = await loadCurrentPage();
  if (page) {
    const [list, old] = [page, document].map((one) =>
      one.querySelector<HTMLElement>("[data-list]"),
    );
    if (list && old) replace(old, list);
    showChosen();
  }
  schedule();
}

/** Row by row, so that text selections survive. */
function replace(old: HTMLElement, list: HTMLElement): void {
  enhance(list);
  const [table, newer] = [old, list].map((one) => one.querySelector("table"));
  const [body, rows] = [table?.tBodies[0], newer?.tBodies[0]?.rows];
  if (!table || !newer || !body || !rows) return replaceElement(old, list);
  keepFocus(old, () => {
    table.toggleAttribute("data-live", newer.dataset.live !== undefined);
    updateRows(body, [...rows]);
    const [pager, newPager] = [old, list].map((one) => one.querySelector(".pager"));
    if (pager?.outerHTML !== newPager?.outerHTML) {
      pager?.remove();
      if (newPager) old.append(newPager);
    }
    return old;
  });
}

/** The old and the new list are in the same order, so new rows only go before or after existing ones. */
function updateRows(body: HTMLElement, rows: HTMLTableRowElement[]): void {
  const ids = new Set(rows.map(({ dataset }) => dataset.row));
  for (const row of body.querySelectorAll<HTMLElement>("[data-row]"))
    if (!ids.has(row.dataset.row)) row.remove();
  let place = body.firstElementChild;
  for (const row of rows) {
    const same = body.querySelector(`[data-row="${row.dataset.row}"]`);
    if (!same || same !== place) {
      body.insertBefore(row, place);
      continue;
    }
    place = same.nextElementSibling;
    if (same.innerHTML === row.innerHTML) continue;
    keepChosen(same, row);
    same.replaceWith(row);
  }
}

/** Empty fields are left out, so that the address has only the filters that are set. */
document.addEventListener("submit", ({ target }) => {
  if (!(target instanceof HTMLFormElement) || target.dataset.filters === undefined) return;
  for (const input of target.querySelectorAll("input")) input.disabled = input.value === "";
});
// Back leads to the page as it was.
window.addEventListener("pageshow", () => {
  for (const input of document.querySelectorAll<HTMLInputElement>("[data-filters] input"))
    input.disabled = false;
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else void refresh();
});

chooseAll();
schedule();
