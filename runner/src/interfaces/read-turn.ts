/**
 * One's turn to read what may be large. How long that takes says how busy the machine is, and
 * nothing else. So there is no time for the whole of it: a turn that has lasted goes to whoever
 * waits, and comes round again. Only what dribbles is given up.
 */
import type { Mutex } from "../lib/mutex.ts";

/** Bytes or characters: what a turn brings at least, or it is the last. */
export const MEGABYTE = 1024 ** 2;
/** Milliseconds of a turn: 35 kB/s at least. */
export const TURN_MS = 30_000;

export interface ReadTurnOptions {
  mutex: Mutex;
  /** Milliseconds of a turn. */
  turnMs: number;
  /** For who waits for another turn. */
  end: AbortSignal;
  /** It dribbles. */
  onStalled: () => void;
}

export class ReadTurn {
  readonly #options: ReadTurnOptions;
  #release: (() => void) | undefined;
  #clock: NodeJS.Timeout | undefined;
  #size = 0;
  #sizeBefore = 0;
  #shouldYield = false;

  constructor(options: ReadTurnOptions) {
    this.#options = options;
  }

  get isActive(): boolean {
    return this.#release !== undefined;
  }

  /** @throws the signal's reason, when that comes before the turn does */
  async begin(wait: AbortSignal): Promise<void> {
    const { mutex, turnMs } = this.#options;
    this.#release = await mutex.enter(wait);
    this.#sizeBefore = this.#size;
    this.#clock = setInterval(() => this.#check(), turnMs);
  }

  /**
   * Told how much there is by now; waits where others have their turn first.
   * @throws the signal's reason
   */
  async progress(size: number): Promise<void> {
    this.#size = size;
    if (!this.#shouldYield) return;
    this.end();
    await this.begin(this.#options.end);
  }

  end(): void {
    clearInterval(this.#clock);
    this.#shouldYield = false;
    this.#release?.();
    this.#release = undefined;
  }

  #check(): void {
    if (this.#size - this.#sizeBefore < MEGABYTE) return this.#options.onStalled();
    this.#sizeBefore = this.#size;
    this.#shouldYield = this.#options.mutex.length > 1;
  }
}
