/**
 * A limit of time that can be called off. AbortSignal.timeout cannot: it holds an object awake, and
 * billed, for its whole time (measured: 3 s of it, and the object is evicted after 3 s).
 */
export class TimeLimit {
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(ms: number) {
    this.#timer = setTimeout(() => this.#controller.abort(), ms);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  callOff(): void {
    clearTimeout(this.#timer);
  }
}
