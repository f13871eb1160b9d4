/**
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
