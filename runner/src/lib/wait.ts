/** Waiting that ends when a signal says so. */
import { setTimeout as delay } from "node:timers/promises";

/** False when the signal came first. */
export const sleep = (milliseconds: number, signal?: AbortSignal): Promise<boolean> =>
  delay(milliseconds, true, { signal }).catch(() => false);

/** The promise's result, or the signal's reason thrown; the promise itself goes on. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // Whoever is told of the abort does not hear any more how the promise ends.
  promise.catch(() => {});
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Whether the promise settled well within the time. */
export async function settlesWithin(
  milliseconds: number,
  promise: Promise<unknown>,
): Promise<boolean> {
  const over = new AbortController();
  try {
    return await Promise.race([
      promise.then(() => true),
      sleep(milliseconds, over.signal).then(() => false),
    ]);
  } finally {
    over.abort();
  }
}
