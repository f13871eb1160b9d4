/** Counts what goes out, and how fast it did lately. */
import type { Progress } from "./progress.ts";

/** What the rate is the mean of: long enough to be calm, short enough to notice a change. */
const WINDOW_MS = 10_000;
/** In the first moment the system buffers what the line has yet to take. */
const WARM_UP_MS = 1_000;
/** Of less than that no rate is made. */
const MIN_SPAN_MS = 1_000;

interface Sample {
  at: number;
  sent: number;
}

export class Meter {
  readonly #size: number;
  readonly #first: Sample;
  #sent: number;
  #samples: Sample[] = [];

  /** @param sent bytes that are there already, and say nothing about the line */
  constructor(size: number, sent: number, now: number) {
    this.#size = size;
    this.#sent = sent;
    this.#first = { at: now, sent };
  }

  /** Negative when something has to go out again: the rate is that since then. */
  readonly add = (bytes: number): void => {
    this.#sent += bytes;
    if (bytes < 0) this.#samples = [];
  };

  /** Asked every second or more often: the rate is that between two such looks. */
  sample(now: number): Progress {
    if (now - this.#first.at >= WARM_UP_MS) this.#samples.push({ at: now, sent: this.#sent });
    const old = this.#samples.findLastIndex(({ at }) => now - at >= WINDOW_MS);
    // One that is older than the window stays, so that all of it is covered.
    this.#samples = this.#samples.slice(Math.max(old, 0));
    return { size: this.#size, sent: this.#sent, rate: this.#rate(now) };
  }

  /** Since the beginning: bytes that went out, ms, bytes a second. */
  total(now: number): { bytes: number; ms: number; rate: number } {
    const [bytes, ms] = [this.#sent - this.#first.sent, Math.max(now - this.#first.at, 1)];
    return { bytes, ms, rate: (bytes / ms) * 1000 };
  }

  #rate(now: number): number | undefined {
    const [oldest] = this.#samples;
    if (!oldest || now - oldest.at < MIN_SPAN_MS) return undefined;
    return ((this.#sent - oldest.sent) / (now - oldest.at)) * 1000;
  }
}
