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

/**
 * Whether the promise is fulfilled within the time. The promise itself goes on.
 * @throws what the promise is rejected with in time
 */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), ms);
  try {
    return await Promise.race([promise.then(() => true), late.promise]);
  } finally {
    // A timer that is left running would keep a Durable Object in memory, and billed.
    clearTimeout(timer);
  }
}

/** The awaited work may still finish. */
export class TimedOut extends Error {}

/** @throws TimedOut when the promise takes longer; what it is rejected with in time */
export async function withTimeout<T>(promise: Promise<T>, ms: number, what = "result"): Promise<T> {
  if (await settlesWithin(promise, ms)) return promise;
  throw new TimedOut(`no ${what} within ${ms} ms`);
}

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

  /** Restarts the timeout. */
  change(ms: number): void {
    this.callOff();
    this.#timer = this.#start(ms);
  }

  callOff(): void {
    clearTimeout(this.#timer);
  }

  #start = (ms: number) => setTimeout(() => this.#controller.abort(), ms);
}
