/** Trying again: bounded, with jitter, and no longer than its signal lets it. */
import { setTimeout as sleep } from "node:timers/promises";
import { ControlPlaneError, isRetryable } from "../control-plane/error.ts";

export interface Backoff {
  /** Milliseconds before the first retry; each later one waits twice as long. */
  base: number;
  max: number;
}

/** Between half and the whole of the delay, so that a fleet does not come back in step. */
export function backoff(failures: number, { base, max }: Backoff): number {
  const delay = Math.min(max, base * 2 ** (failures - 1));
  return delay * (0.5 + Math.random() / 2);
}

/** What to wait after this failure: at least what the server asked for. */
export function retryDelay(error: unknown, failures: number, delays: Backoff): number {
  const asked = error instanceof ControlPlaneError ? error.retryAfterMs : 0;
  return Math.max(asked, backoff(failures, delays));
}

export interface RetryOptions extends Backoff {
  /** How often in all; Infinity where only the signal ends it. */
  attempts: number;
  signal: AbortSignal;
  onRetry?: (error: unknown, delayMs: number) => void;
}

export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error) || failures >= options.attempts) throw error;
      const delay = retryDelay(error, failures, options);
      options.onRetry?.(error, delay);
      await sleep(delay, undefined, { signal: options.signal });
    }
  }
}
