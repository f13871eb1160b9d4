/**
 * A turn to read something large. Its duration depends on how busy the machine is, so there is no
 * limit for a whole read: after each turn the lock passes to the next waiter and comes back later.
 * Only a read that makes too little progress is given up.
 */
import type { Mutex } from "../lib/mutex.ts";

/** The bytes or characters that a turn must bring to be followed by another. */
export const MEGABYTE = 1024 ** 2;
/** At least 35 kB/s. */
export const TURN_MS = 30_000;

export interface ReadTurnOptions {
  mutex: Mutex;
  /** How long a turn lasts. */
  turnMs: number;
  /** Aborts waiting for another turn. */
  end: AbortSignal;
  /** Called when a turn has brought less than a megabyte. */
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

  /** @throws the signal's reason if it is aborted before the turn begins */
  async begin(wait: AbortSignal): Promise<void> {
    const { mutex, turnMs } = this.#options;
    this.#release = await mutex.enter(wait);
    this.#sizeBefore = this.#size;
    this.#clock = setInterval(() => this.#check(), turnMs);
  }

  /**
   * To be called with the size so far. Waits if others should have a turn first.
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
