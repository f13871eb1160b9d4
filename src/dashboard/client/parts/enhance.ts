/** Reveals copy buttons and converts times, on a page or on a fragment loaded later. */

export function enhance(root: ParentNode): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>("[data-copy]"))
    button.hidden = false;
  for (const time of root.querySelectorAll("time")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    if (time.dataset.clock !== undefined) time.textContent = clockText(at);
    else {
      const local = `${dayText(at)}, ${clockText(at)}`;
      time.title = local;
      time.textContent = time.dataset.exact === undefined ? relativeText(at) : local;
    }
  }
}

/*
 * `Intl.DateTimeFormat` is not used: the first one in a process takes Chromium 25 ms, in which the page could
 * have been painted.
 */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const dayText = (at: Date): string =>
  `${at.getDate()} ${MONTHS[at.getMonth()]} ${at.getFullYear()}`;

const UNITS: [ms: number, most: number, name: string][] = [
  [60_000, 60, "min"],
  [3_600_000, 24, "h"],
  [86_400_000, 30, "day"],
];

/** `5 min ago`, `in 3 days`; a date from 30 days on. */
function relativeText(at: Date): string {
  const distance = Date.now() - at.getTime();
  if (Math.abs(distance) < 60_000) return distance < 0 ? "in a moment" : "just now";
  for (const [ms, most, unit] of UNITS) {
    const count = Math.floor(Math.abs(distance) / ms);
    if (count >= most) continue;
    const text = `${count} ${unit === "day" && count > 1 ? "days" : unit}`;
    return distance < 0 ? `in ${text}` : `${text} ago`;
  }
  return dayText(at);
}

/** The time of day, as a log has it. */
export const clockText = (at: Date, exact = true): string =>
  (exact ? [at.getHours(), at.getMinutes(), at.getSeconds()] : [at.getHours(), at.getMinutes()])
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
