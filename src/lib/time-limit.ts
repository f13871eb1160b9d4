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
