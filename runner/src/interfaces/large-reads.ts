/**
 * Reads the large answers of all containers one at a time: an answer is in memory as bytes, text
 * and values, which can be twenty times its size. The others wait unread in their sockets.
 */
import { external } from "../../../src/run/failure.ts";
import type { ServerAnswer } from "../../../src/run/openai/answer.ts";
import { Mutex } from "../lib/mutex.ts";

export class LargeReads {
  readonly #mutex = new Mutex();
  readonly #turnMs: number;

  /** @param turnMs how long a turn lasts */
  constructor(turnMs = TURN_MS) {
    this.#turnMs = turnMs;
  }

  /** `end` aborts waiting for a turn. */
  open(answer: Pick<ServerAnswer, "close">, end: AbortSignal): LargeRead {
    const turnMs = this.#turnMs;
    const message = `the container sent less than 1 MB of a large response in ${turnMs / 1e3} s`;
    const onStalled = () => answer.close(external(message));
    return new LargeRead(new ReadTurn({ mutex: this.#mutex, turnMs, end, onStalled }), end);
  }
}

export class LargeRead {
  readonly #turn: ReadTurn;
  readonly #end: AbortSignal;

  constructor(turn: ReadTurn, end: AbortSignal) {
    this.#turn = turn;
    this.#end = end;
  }

  /**
   * Call this after every chunk with the size of the answer in memory. Waits for a turn once the answer is
   * large, and ends the turn once it no longer is.
   * @throws the signal's reason
   */
  async progress(size: number): Promise<void> {
    if (size <= MEGABYTE) return this.done();
    await this.#turn.progress(size);
    if (!this.#turn.isActive) await this.#turn.begin(this.#end);
  }

  done(): void {
    this.#turn.end();
  }
}

/** The bytes or characters that a turn must bring to be followed by another. */
export const MEGABYTE = 1024 ** 2;
/** At least 35 kB/s. */
export const TURN_MS = 30_000;

interface ReadTurnOptions {
  mutex: Mutex;
  /** How long a turn lasts. */
  turnMs: number;
  end: AbortSignal;
  /** Called when a turn has brought less than a megabyte. */
  onStalled: () => void;
}

/**
 * A turn to read something large. Its duration depends on how busy the machine is, so there is no
 * limit for a whole read: after each turn the lock passes to the next waiter and comes back later.
 * Only a read that makes too little progress is given up.
 */
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
