/**
 * Repeats a call to an object that the platform has ended, as when it moved or its code was updated: the
 * next call reaches a new instance. Only for calls that may be made twice.
 */
import { retry } from "../lib/retry.ts";

const RETRIES = { attempts: 4, baseMs: 50, maxMs: 1_000 };

/** @param call makes a stub of its own: one whose call has failed stays broken */
export const repeated = <Result>(
  call: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> => retry(call, { ...RETRIES, signal, isRetryable: isEnded });

/** By the properties that the platform gives its errors. Who asks an overloaded object again makes it worse. */
function isEnded(error: unknown): boolean {
  const has = (name: string) =>
    typeof error === "object" && error !== null && Reflect.get(error, name) === true;
  return (has("retryable") || has("durableObjectReset")) && !has("overloaded");
}
