/** The progress of an upload as text and as a bar. */
import type { Display } from "./display.ts";

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

/** Returns one line of at most this many columns: the bar takes the free ones, and is dropped first. */
export function progressBar(progress: Progress, columns: number): string {
  // The last column stays empty: some terminals wrap when it is filled.
  const room = columns - 1;
  const percent = percentOf(progress).padStart(4);
  const [amount, speed, left] = [
    amountOf(progress),
    speedOf(progress).padStart(10),
    leftOf(progress).padEnd(12),
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

/** `0.3s`, `42s`, `3m 05s`, `2h 07m`, `5 days` */
export function formatDuration(seconds: number): string {
  if (seconds < 10) return `${Number(seconds.toPrecision(2))}s`;
  const whole = Math.round(seconds);
  const [minutes, hours] = [Math.floor(whole / 60), Math.floor(whole / 3_600)];
  const two = (count: number) => String(count).padStart(2, "0");
  if (minutes < 1) return `${whole}s`;
  if (hours < 1) return `${minutes}m ${two(whole % 60)}s`;
  if (hours < 100) return `${hours}h ${two(minutes % 60)}m`;
  return `${Math.round(hours / 24)} days`;
}

/** Returns a percentage rounded down: 100 % means complete. */
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
  return rate === 0 ? "stalled" : `${formatDuration(Math.round((size - sent) / rate))} left`;
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

/**
 * The rate is the mean over this time: long enough to be steady, short enough to follow changes.
 */
const WINDOW_MS = 10_000;
/** The system only buffers the first bytes, so they do not count toward the rate. */
const WARM_UP_MS = 1_000;
/** The shortest time to compute a rate from. */
const MIN_SPAN_MS = 1_000;

interface Sample {
  at: number;
  sent: number;
}

export class Meter {
  readonly #size: number;
  readonly #startedAt: number;
  /** Bytes uploaded before, which do not count toward the rate. */
  #there: number;
  #sent = 0;
  #samples: Sample[] = [];

  /** @param there bytes uploaded before */
  constructor(size: number, there: number, now: number) {
    this.#size = size;
    this.#there = there;
    this.#startedAt = now;
  }

  /** Adds bytes that were uploaded before; a negative number if they are lost. */
  readonly found = (bytes: number): void => {
    this.#there += bytes;
  };

  /** Adds sent bytes; a negative number if bytes are sent again, which restarts the rate. */
  readonly add = (bytes: number): void => {
    this.#sent += bytes;
    if (bytes < 0) this.#samples = [];
  };

  /** Takes a sample. Callers do so at least every second: the rate is computed between samples. */
  sample(now: number): Progress {
    if (now - this.#startedAt >= WARM_UP_MS) this.#samples.push({ at: now, sent: this.#sent });
    const old = this.#samples.findLastIndex(({ at }) => now - at >= WINDOW_MS);
    // One older sample is kept so that the whole window is covered.
    this.#samples = this.#samples.slice(Math.max(old, 0));
    return { size: this.#size, sent: this.#there + this.#sent, rate: this.#rate(now) };
  }

  /** Returns the bytes sent since the start, the time, and bytes per second. */
  total(now: number): { bytes: number; ms: number; rate: number } {
    const [bytes, ms] = [this.#sent, Math.max(now - this.#startedAt, 1)];
    return { bytes, ms, rate: (bytes / ms) * 1000 };
  }

  #rate(now: number): number | undefined {
    const [oldest] = this.#samples;
    if (!oldest || now - oldest.at < MIN_SPAN_MS) return undefined;
    return ((this.#sent - oldest.sent) / (now - oldest.at)) * 1000;
  }
}

export interface Shown {
  /** Ends the display; prints the bytes sent, if the upload is complete. */
  end(isComplete: boolean): void;
}

export function showUpload(display: Display, meter: Meter): Shown {
  const hide = display.show({
    draw: (columns) => [progressBar(meter.sample(performance.now()), columns)],
    line: () => progressLine(meter.sample(performance.now())),
  });
  return {
    end(isComplete) {
      hide();
      if (isComplete) display.say(summary(meter));
    },
  };
}

/** `10.5 MB in 2.1s (5.0 MB/s)` */
export function summary(meter: Meter): string {
  const { bytes, ms, rate } = meter.total(performance.now());
  const time = ms < 60_000 ? `${(ms / 1000).toFixed(1)}s` : formatDuration(ms / 1000);
  return `${formatBytes(bytes)} in ${time} (${formatBytes(rate)}/s)`;
}
