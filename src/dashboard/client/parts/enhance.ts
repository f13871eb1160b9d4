/** Reveals copy buttons and converts times, on a page or on a fragment loaded later. */

export function enhance(root: ParentNode): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>("[data-copy]"))
    button.hidden = false;
  for (const time of root.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    if (time.dataset.clock !== undefined) time.textContent = clockText(at);
    else time.textContent = `${dayText(at)}, ${clockText(at, time.dataset.exact !== undefined)}`;
  }
}

/*
 * `Intl.DateTimeFormat` is not used: the first one in a process takes Chromium 25 ms, in which the page could
 * have been painted.
 */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const dayText = (at: Date): string =>
  `${at.getDate()} ${MONTHS[at.getMonth()]} ${at.getFullYear()}`;

/** The time of day, as a log has it. */
export const clockText = (at: Date, exact = true): string =>
  (exact ? [at.getHours(), at.getMinutes(), at.getSeconds()] : [at.getHours(), at.getMinutes()])
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
