/**
 * Bounded calls to Durable Objects: every call ends. A call that hangs would hold up all that wait for it: a
 * request, an alarm and all later ones of its object, a batch of the queue, a sweep. Calls that may be made
 * twice are repeated when the platform ends them.
 */

import { retry } from "../../lib/retry.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { transientErrorIn } from "../../lib/transient-error.ts";

/**
 * The default limit of a call. An object answers within milliseconds, or within seconds if it has to start
 * far away, or reads and deletes much.
 */
export const ANSWER_MS = 10_000;

interface Bounds<Stub> {
  /** How long a call may take. */
  ms?: number | undefined;
  /**
   * Methods that may be called twice: they only read, or the second call changes nothing and answers the
   * same.
   */
  repeatable?: readonly (keyof Stub & string)[];
}

/**
 * Returns the stub of an object. Its calls reject with TimedOut after the time; their effects by then, or
 * later, are unknown.
 * @param open makes the stub
 */
export function bounded<Stub extends object>(
  open: () => Stub,
  { ms = ANSWER_MS, repeatable = [] }: Bounds<Stub> = {},
): Stub {
  const names: readonly string[] = repeatable;
  return new Proxy(open(), {
    get(first, name) {
      const member: unknown = Reflect.get(first, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        let unused: Stub | undefined = first;
        const call = (): Promise<unknown> => {
          const stub = unused ?? open();
          const method: unknown = unused ? member : Reflect.get(stub, name);
          unused = undefined;
          if (typeof method !== "function") throw new TypeError(`no method ${String(name)}`);
          return Reflect.apply(method, stub, args);
        };
        const answer = names.includes(String(name)) ? repeated(call) : call();
        return withTimeout(answer, ms, `answer to ${String(name)}`);
      };
    },
  });
}

/** Repeats a call to an object that the platform has ended, as when it moved or its code was updated. */

/** Pauses of the retries take half a second at most: an object is back within a fraction of that. */
const RETRIES = { attempts: 4, baseMs: 50, maxMs: 1_000 };

/** @param call may be made twice, and makes a stub of its own: a stub whose call has failed stays broken */
export const repeated = <Result>(
  call: () => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> =>
  retry(call, {
    ...RETRIES,
    signal,
    isRetryable: (error) => transientErrorIn(error) === "passing",
  });
