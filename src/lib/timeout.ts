/** Waiting with a limit: by time, or until a signal is aborted. For Node, workerd and browsers. */

/**
 * Calls the listener once when the signal is aborted, or now if it is. @returns a function that removes it.
 * The option `signal` of a listener does the same with a signal more for each.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener();
  else signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}

/** Resolves to true after the time, or to false as soon as the signal is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(false);
    const abort = () => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve(true);
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Settles as the promise does, or as `late` says after the time. The promise itself goes on. */
function within<T>(
  promise: Promise<T>,
  ms: number,
  late: (settle: PromiseWithResolvers<T>) => void,
): Promise<T> {
  const settle = Promise.withResolvers<T>();
  const timer = setTimeout(() => late(settle), ms);
  // A timer that is left running would keep a Durable Object in memory, and billed.
  const inTime = <Value>(act: (value: Value) => void) => {
    return (value: Value) => {
      clearTimeout(timer);
      act(value);
    };
  };
  promise.then(inTime(settle.resolve), inTime(settle.reject));
  return settle.promise;
}

/**
 * Whether the promise is fulfilled within the time. The promise itself goes on.
 * @throws what the promise is rejected with in time
 */
export const settlesWithin = (promise: Promise<unknown>, ms: number): Promise<boolean> =>
  within(
    promise.then(() => true),
    ms,
    ({ resolve }) => resolve(false),
  );

/** The awaited work may still finish. */
export class TimedOut extends Error {}

/** @throws TimedOut when the promise takes longer; what it is rejected with in time */
export const withTimeout = <T>(promise: Promise<T>, ms: number, what = "result"): Promise<T> =>
  within(promise, ms, ({ reject }) => reject(new TimedOut(`no ${what} within ${ms} ms`)));

/**
 * Returns the promise's result. The promise itself goes on after the signal is aborted.
 * @throws the signal's reason; what the promise is rejected with before that
 */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // This handles a rejection of the promise after the abort.
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

/**
 * A timeout that can be canceled. AbortSignal.timeout cannot: it keeps a Durable Object awake, and
 * billed, for its full duration (measured: with 3 s, the object is evicted after 3 s).
 */
export class TimeLimit {
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout>;

  constructor(ms: number) {
    this.#timer = this.#start(ms);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  change(ms: number): void {
    this.callOff();
    this.#timer = this.#start(ms);
  }

  callOff(): void {
    clearTimeout(this.#timer);
  }

  #start = (ms: number) => setTimeout(() => this.#controller.abort(), ms);
}
