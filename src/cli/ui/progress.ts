/** The progress of an upload as text and as a bar. */

export interface Progress {
  /** Bytes in all, and those uploaded. */
  size: number;
  sent: number;
  /** Bytes per second; undefined until known. */
  rate: number | undefined;
}

/** A shorter bar is useless. */
const MIN_BAR_COLUMNS = 10;
const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** One line of at most this many columns: the bar takes what is left, and is dropped first. */
export function progressBar(progress: Progress, columns: number): string {
  // The last column stays empty: some terminals wrap when it is filled.
  const room = columns - 1;
  const percent = percentOf(progress).padStart(4);
  const [amount, speed, left] = [
    amountOf(progress),
    speedOf(progress).padStart(10),
    leftOf(progress).padEnd(16),
  ];
  const rest = [amount, speed, left].join("  ");
  const bar = room - `${percent} [] ${rest}`.length;
  if (bar >= MIN_BAR_COLUMNS) return `${percent} [${barOf(progress, bar)}] ${rest}`.trimEnd();
  const lines = [
    [percent, amount, speed, left],
    [percent, speed, left],
    [percent, left],
  ];
  const line = lines.map((texts) => texts.join("  ").trimEnd()).find((text) => text.length <= room);
  return line ?? percent.slice(0, Math.max(room, 0));
}

/** The same as a line of a log. */
export const progressLine = (progress: Progress): string =>
  [percentOf, amountOf, speedOf, leftOf]
    .map((text) => text(progress).trim())
    .filter((text) => text !== "")
    .join(", ");

/** `104.9 MB` */
export function formatBytes(count: number): string {
  const unit = unitOf(count);
  return `${inUnit(count, unit)} ${UNITS[unit]}`;
}

/** `42 s`, `3 min 05 s`, `2 h 07 min`, `5 days` */
export function formatDuration(seconds: number): string {
  const whole = Math.round(seconds);
  const [minutes, hours] = [Math.floor(whole / 60), Math.floor(whole / 3_600)];
  const two = (count: number) => String(count).padStart(2, "0");
  if (minutes < 1) return `${whole} s`;
  if (hours < 1) return `${minutes} min ${two(whole % 60)} s`;
  if (hours < 100) return `${hours} h ${two(minutes % 60)} min`;
  return `${Math.round(hours / 24)} days`;
}

/** Rounded down: 100 % means complete. */
const percentOf = ({ sent, size }: Progress): string => `${Math.floor((sent / size) * 100)}%`;

function amountOf({ sent, size }: Progress): string {
  const unit = unitOf(size);
  const [part, whole] = [inUnit(sent, unit), inUnit(size, unit)];
  return `${part.padStart(whole.length)} of ${whole} ${UNITS[unit]}`;
}

const speedOf = ({ rate }: Progress): string =>
  rate === undefined ? "" : `${formatBytes(rate)}/s`;

function leftOf({ size, sent, rate }: Progress): string {
  if (sent === size) return "finishing";
  if (rate === undefined) return "";
  return rate === 0 ? "stalled" : `${formatDuration((size - sent) / rate)} left`;
}

function barOf({ sent, size }: Progress, width: number): string {
  const done = Math.floor((sent / size) * width);
  const head = done < width ? ">" : "";
  return `${"=".repeat(done)}${head}`.padEnd(width);
}

/** The largest unit that leaves a digit before the decimal point, after rounding. */
const unitOf = (count: number): number =>
  Math.max(
    0,
    UNITS.findLastIndex((_, power) => count >= 0.99995 * 1000 ** power),
  );

const inUnit = (count: number, unit: number): string =>
  (count / 1000 ** unit).toFixed(unit === 0 ? 0 : 1);
