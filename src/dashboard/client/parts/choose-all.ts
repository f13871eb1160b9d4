/** A checkbox in the head of a table that chooses all of its rows, or none. */
export function chooseAll(): void {
  for (const all of document.querySelectorAll<HTMLInputElement>("[data-choose-all]")) {
    const table = all.closest("table");
    const rows = [
      ...(table?.tBodies[0]?.querySelectorAll<HTMLInputElement>("[type=checkbox]") ?? []),
    ];
    const follow = () => {
      const chosen = rows.filter(({ checked }) => checked).length;
      all.checked = chosen === rows.length;
      all.indeterminate = chosen > 0 && !all.checked;
    };
    all.addEventListener("change", () => {
      for (const row of rows) row.checked = all.checked;
    });
    table?.addEventListener("change", follow);
    // A browser that reloads the page keeps what was chosen.
    follow();
    all.hidden = false;
  }
}
