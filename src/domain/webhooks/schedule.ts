/** The schedule of further tries after a failed delivery. */

/**
 * The times between tries, in multiples of the first: with 5 s they are 5 s, 30 s, 2 min, 5 min,
 * 15 min, 30 min, 1 h, 2 h, 4 h, 8 h and 8 h: 12 tries in 24 h.
 */
const STEPS = [1, 6, 24, 60, 180, 360, 720, 1_440, 2_880, 5_760, 5_760];

/** The longest delay that a receiver's Retry-After can request. */
const MAX_STEP = Math.max(...STEPS);

/**
 * The jitter of delays, which are multiplied by 0.8 to 1.2: deliveries that failed together must not be tried
 * together again.
 */
const JITTER = 0.2;

/**
 * Returns how long to wait after this many failed tries, ms; undefined when no further try follows.
 * @param chance 0 to 1
 * @param retryAfterMs requested by the receiver
 */
export function nextDelay(
  tries: number,
  firstMs: number,
  chance: number,
  retryAfterMs = 0,
): number | undefined {
  const step = STEPS[tries - 1];
  if (step === undefined) return undefined;
  const delay = step * firstMs * (1 + JITTER * (2 * chance - 1));
  return Math.max(delay, Math.min(retryAfterMs, MAX_STEP * firstMs));
}
