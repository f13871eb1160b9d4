/** The slowest body that is waited for while others wait for its memory: 160 kB in 10 s, or 16 kB a second. */

const PACE_MS = 10_000;
const MIN_BYTES = 160_000;

/** For whoever was too slow. */
export const LEAST_PACE = `at least ${MIN_BYTES / 1_000} kB every ${PACE_MS / 1_000} s are required.`;

/** Checks that a body keeps arriving fast enough, in each period. */
export class Pace {
  readonly #tooSlow = Promise.withResolvers<never>();
  readonly #error: () => Error;
  #timer = setTimeout(() => this.#check(), PACE_MS);
  #received = 0;
  #paused = false;
  /** In this period: one that the client did not have to itself does not count. */
  #hasPaused = false;

  /** @param error what it rejects with */
  constructor(error: () => Error) {
    this.#error = error;
    // Whoever has just been served need not hear of it.
    this.#tooSlow.promise.catch(() => {});
  }

  /** Rejects when the body is too slow. */
  get tooSlow(): Promise<never> {
    return this.#tooSlow.promise;
  }

  received(bytes: number): void {
    this.#received += bytes;
  }

  /** Does not count the time that the client waits for us. */
  async excluding<T>(waiting: Promise<T>): Promise<T> {
    this.#paused = this.#hasPaused = true;
    const result = await waiting;
    this.#paused = false;
    return result;
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #check(): void {
    if (!this.#hasPaused && this.#received < MIN_BYTES) this.#tooSlow.reject(this.#error());
    this.#hasPaused = this.#paused;
    this.#received = 0;
    this.#timer = setTimeout(() => this.#check(), PACE_MS);
  }
}
