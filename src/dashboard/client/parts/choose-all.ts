/**
 * A checkbox above a table that chooses all of its rows, or none: on phones the table has no head. Rows may
 * come and go meanwhile.
 */
export function chooseAll(): void {
  document.addEventListener("change", ({ target }) => {
    if (!(target instanceof HTMLInputElement)) return;
    if (target.closest(ALL)) for (const row of rowsBeside(target)) row.checked = target.checked;
    showChosen();
  });
  showChosen();
}

const ALL = "[data-choose-all]";

/** Shows the boxes that choose all rows, also in new tables. Browsers that reload a page keep choices. */
export function showChosen(): void {
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
export function keepChosen(old: Element, row: Element): void {
  const [was, is] = [old, row].map((one) => one.querySelector<HTMLInputElement>("[type=checkbox]"));
  if (was && is) is.checked = was.checked;
}
