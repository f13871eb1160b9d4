/** Minimum speed of bodies, since others wait for their memory: 160 kB in 10 s, or 16 kB a second. */

export const PERIOD_MS = 10_000;
const MIN_BYTES = 160_000;

/** Message for clients that were too slow. */
export const LEAST_SPEED = `at least ${MIN_BYTES / 1_000} kB every ${PERIOD_MS / 1_000} s are required.`;

/** The rate that a whole body must have after its grace period. */
export interface Average {
  bytesPerSecond: number;
  graceMs: number;
}

/** Checks that a body keeps arriving fast enough, in each period. */
export class MinimumSpeed {
  readonly #tooSlow = Promise.withResolvers<never>();
  readonly #error: () => Error;
  #timer = setTimeout(() => this.#check(), PERIOD_MS);
  #received = 0;
  readonly #average: Average;
  /** Time of the client in past periods, ms. */
  #ownMs = 0;
  #total = 0;
  /** When the client began to wait for us, and how long it has in this period. */
  #waitsSince: number | undefined;
  #waitedMs = 0;

  /** @param error that the promise rejects with */
  constructor(error: () => Error, average: Average = { bytesPerSecond: 0, graceMs: 0 }) {
    this.#error = error;
    this.#average = average;
    // A body that has ended must not cause an unhandled rejection.
    this.#tooSlow.promise.catch(() => {});
  }

  get tooSlow(): Promise<never> {
    return this.#tooSlow.promise;
  }

  received(bytes: number): void {
    this.#received += bytes;
  }

  /** Does not count the time that the client waits for us. */
  async excluding<T>(waiting: Promise<T>): Promise<T> {
    this.#waitsSince = Date.now();
    const result = await waiting;
    this.#waitedMs += this.#waited();
    this.#waitsSince = undefined;
    return result;
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #waited = (): number => (this.#waitsSince === undefined ? 0 : Date.now() - this.#waitsSince);

  /** The rest of the period must bring its share of bytes. */
  #check(): void {
    const ownMs = Math.max(0, PERIOD_MS - this.#waitedMs - this.#waited());
    this.#ownMs += ownMs;
    this.#total += this.#received;
    const { bytesPerSecond, graceMs } = this.#average;
    const isSlow = this.#received < (MIN_BYTES * ownMs) / PERIOD_MS;
    const isLate = this.#total < (bytesPerSecond * (this.#ownMs - graceMs)) / 1_000;
    if (isSlow || isLate) this.#tooSlow.reject(this.#error());
    if (this.#waitsSince !== undefined) this.#waitsSince = Date.now();
    this.#waitedMs = 0;
    this.#received = 0;
    this.#timer = setTimeout(() => this.#check(), PERIOD_MS);
  }
}
