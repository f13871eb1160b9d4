/** Reveals copy buttons and converts times, on a page or on a fragment loaded later. */

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** The time of day, as a log has it. */
export const clockText = (at: Date): string => clock.format(at);

export function enhance(root: ParentNode): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>("[data-copy]"))
    button.hidden = false;
  for (const time of root.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    if (time.dataset.clock !== undefined) time.textContent = clockText(at);
    else time.textContent = (time.dataset.exact === undefined ? moment : exact).format(at);
  }
}
