/** Counts the bytes sent and the current rate. */
import type { Progress } from "./progress.ts";

/**
 * The rate is the mean over this time: long enough to be steady, short enough to follow changes.
 */
const WINDOW_MS = 10_000;
/** At first the system only buffers what is to be sent. */
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

  /** More was uploaded before than was known; negative if it is there no more. */
  readonly found = (bytes: number): void => {
    this.#there += bytes;
  };

  /** Negative if something is sent again: the rate then starts over. */
  readonly add = (bytes: number): void => {
    this.#sent += bytes;
    if (bytes < 0) this.#samples = [];
  };

  /** To be called at least every second: the rate is computed between samples. */
  sample(now: number): Progress {
    if (now - this.#startedAt >= WARM_UP_MS) this.#samples.push({ at: now, sent: this.#sent });
    const old = this.#samples.findLastIndex(({ at }) => now - at >= WINDOW_MS);
    // One older sample is kept so that the whole window is covered.
    this.#samples = this.#samples.slice(Math.max(old, 0));
    return { size: this.#size, sent: this.#there + this.#sent, rate: this.#rate(now) };
  }

  /** Since the start: the bytes sent, the time, and bytes per second. */
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
