/**
 * A limit of time that can be called off. AbortSignal.timeout cannot: it holds an object awake, and
 * billed, for its whole time (measured: 3 s of it, and the object is evicted after 3 s).
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

  /** From now on. */
  change(ms: number): void {
    this.callOff();
    this.#timer = this.#start(ms);
  }

  callOff(): void {
    clearTimeout(this.#timer);
  }

  #start = (ms: number) => setTimeout(() => this.#controller.abort(), ms);
}
