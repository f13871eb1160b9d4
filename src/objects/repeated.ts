/** Repeats a call to an object that the platform has ended, as when it moved or its code was updated. */
import { hiccupIn } from "../lib/hiccup.ts";
import { retry } from "../lib/retry.ts";

/** With the pauses, half a second at most: an object is back within a fraction of that. */
const RETRIES = { attempts: 4, baseMs: 50, maxMs: 1_000 };

/** @param call may be made twice, and makes a stub of its own: one whose call has failed stays broken */
export const repeated = <Result>(
  call: () => Promise<Result>,
  signal = new AbortController().signal,
): Promise<Result> =>
  retry(call, { ...RETRIES, signal, isRetryable: (error) => hiccupIn(error) === "passing" });
