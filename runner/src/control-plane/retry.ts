/** Retries of calls to the control plane. */
import { type Backoff, backoffMs, type RetryOptions, retry } from "../../../src/lib/retry.ts";
import { ControlPlaneError, isRetryable } from "../lib/error.ts";

export type CallRetry = Omit<RetryOptions, "isRetryable" | "minDelayMs">;

export const retryCall = <T>(call: () => Promise<T>, options: CallRetry): Promise<T> =>
  retry(call, { ...options, isRetryable, minDelayMs: requestedDelayMs });

/** Returns the delay before the next call: at least the one that the server asked for. */
export const retryDelayMs = (error: unknown, failures: number, delays: Backoff): number =>
  Math.max(requestedDelayMs(error), backoffMs(failures, delays));

const requestedDelayMs = (error: unknown): number =>
  error instanceof ControlPlaneError ? error.retryAfterMs : 0;
