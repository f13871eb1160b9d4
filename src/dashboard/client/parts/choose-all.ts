/** A checkbox in the head of a table that chooses all of its rows, or none. Rows may come and go meanwhile. */
export function chooseAll(): void {
  document.addEventListener("change", ({ target }) => {
    const all = target instanceof Element && target.closest("table")?.querySelector(ALL);
    if (!(all instanceof HTMLInputElement)) return;
    if (target === all) for (const row of rowsOf(all)) row.checked = all.checked;
    showChosen();
  });
  showChosen();
}

const ALL = "[data-choose-all]";

/** For tables that have just come, too; a browser that reloads the page keeps what was chosen. */
export function showChosen(): void {
  for (const all of document.querySelectorAll<HTMLInputElement>(ALL)) {
    const rows = rowsOf(all);
    const chosen = rows.filter(({ checked }) => checked).length;
    all.checked = chosen > 0 && chosen === rows.length;
    all.indeterminate = chosen > 0 && !all.checked;
    all.hidden = false;
  }
}

const rowsOf = (all: Element) => [
  ...(all.closest("table")?.tBodies[0]?.querySelectorAll<HTMLInputElement>("[type=checkbox]") ??
    []),
];

/** A row that has changed is as chosen as it was. */
export function keepChosen(old: Element, row: Element): void {
  const [was, is] = [old, row].map((one) => one.querySelector<HTMLInputElement>("[type=checkbox]"));
  if (was && is) is.checked = was.checked;
}
