/** Reveals copy buttons and converts times, on a page or on a fragment loaded later. */

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function enhance(root: ParentNode): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>("[data-copy]"))
    button.hidden = false;
  for (const time of root.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.getTime()))
      time.textContent = (time.dataset.exact === undefined ? moment : exact).format(at);
  }
}
