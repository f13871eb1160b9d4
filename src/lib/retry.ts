/** Retries: a bounded number, with exponential backoff and jitter, and until a signal is aborted. */
import { sleep } from "./timeout.ts";

export interface Backoff {
  /** The delay before the first retry; it doubles with each further failure. */
  baseMs: number;
  maxMs: number;
}

/** Returns half to all of the delay, so that many clients do not come back at the same moment. */
export function backoffMs(failures: number, { baseMs, maxMs }: Backoff): number {
  const delayMs = Math.min(maxMs, baseMs * 2 ** (failures - 1));
  return delayMs * (0.5 + Math.random() / 2);
}

export interface RetryOptions extends Backoff {
  /** The number of attempts in all; Infinity if only the signal ends them. */
  attempts: number;
  signal?: AbortSignal | undefined;
  isRetryable: (error: unknown) => boolean;
  /** The shortest delay after this error, as in `Retry-After`. */
  minDelayMs?: (error: unknown) => number;
  onRetry?: ((error: unknown, delayMs: number) => void) | undefined;
}

/** @throws the error of the last attempt; the signal's reason when it is aborted between two */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { attempts, signal, isRetryable, minDelayMs, onRetry } = options;
  for (let failures = 1; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error) || failures >= attempts) throw error;
      const delayMs = Math.max(minDelayMs?.(error) ?? 0, backoffMs(failures, options));
      onRetry?.(error, delayMs);
      if (!(await sleep(delayMs, signal))) signal?.throwIfAborted();
    }
  }
}
