/** Refreshes the list of predictions, or of deliveries, while the tab is visible. */
import { keepCurrent } from "./parts/current-page.ts";
import { enhance } from "./parts/enhance.ts";
import { keepFocus, replaceElement } from "./parts/replace-element.ts";

/**
 * A checkbox above a table that chooses all of its rows, or none: on phones the table has no head. Rows may
 * come and go meanwhile.
 */
function chooseAll(): void {
  document.addEventListener("change", ({ target }) => {
    if (!(target instanceof HTMLInputElement)) return;
    if (target.closest(ALL)) for (const row of rowsBeside(target)) row.checked = target.checked;
    showChosen();
  });
  showChosen();
}

const ALL = "[data-choose-all]";

/** Shows the boxes that choose all rows, also in new tables. Browsers that reload a page keep choices. */
function showChosen(): void {
  for (const label of document.querySelectorAll<HTMLElement>(ALL)) {
    label.hidden = false;
    const all = label.querySelector("input");
    if (!all) continue;
    const rows = rowsBeside(all);
    const chosen = rows.filter(({ checked }) => checked).length;
    all.checked = chosen > 0 && chosen === rows.length;
    all.indeterminate = chosen > 0 && !all.checked;
  }
}

const rowsBeside = ({ form }: HTMLInputElement) => [
  ...(form?.querySelectorAll<HTMLInputElement>("tbody [type=checkbox]") ?? []),
];

/** A row that has changed keeps its choice. */
function keepChosen(old: Element, row: Element): void {
  const [was, is] = [old, row].map((one) => one.querySelector<HTMLInputElement>("[type=checkbox]"));
  if (was && is) is.checked = was.checked;
}

/** While a prediction is unfinished; otherwise only the first page is refreshed, for new ones. */
const LIVE_MS = 2_000;
/** Runs of a few seconds are seen before they have ended. */
const IDLE_MS = 3_000;

function rest(): number | undefined {
  const list = document.querySelector<HTMLElement>("[data-list]");
  if (list?.querySelector("[data-live]")) return LIVE_MS;
  return list?.dataset.first === undefined ? undefined : IDLE_MS;
}

function show(page: Document): void {
  const [list, old] = [page, document].map((one) => one.querySelector<HTMLElement>("[data-list]"));
  if (list && old) replace(old, list);
  showChosen();
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
  let next = body.firstElementChild;
  for (const row of rows) {
    const same = body.querySelector(`[data-row="${row.dataset.row}"]`);
    if (!same || same !== next) {
      body.insertBefore(row, next);
      continue;
    }
    next = same.nextElementSibling;
    if (same.innerHTML === row.innerHTML) continue;
    keepChosen(same, row);
    same.replaceWith(row);
  }
}

/** A filter acts when it changes. */
document.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLElement)) return;
  target.closest<HTMLFormElement>("form[data-filters]")?.requestSubmit();
});

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

chooseAll();
keepCurrent(rest, show);
