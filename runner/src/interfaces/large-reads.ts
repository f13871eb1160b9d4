/**
 * Reads the large answers of all containers one at a time: an answer is in memory as bytes, text
 * and values, which can be twenty times its size. The others wait unread in their sockets.
 */
import type { IncomingMessage } from "node:http";
import { external } from "../lib/failure.ts";
import { Mutex } from "../lib/mutex.ts";
import { MEGABYTE, ReadTurn, TURN_MS } from "./read-turn.ts";

export class LargeReads {
  readonly #mutex = new Mutex();
  readonly #turnMs: number;

  /** @param turnMs how long a turn lasts */
  constructor(turnMs = TURN_MS) {
    this.#turnMs = turnMs;
  }

  /** `end` aborts waiting for a turn. */
  open(answer: IncomingMessage, end: AbortSignal): LargeRead {
    const turnMs = this.#turnMs;
    const message = `the container sent less than 1 MB of a large response in ${turnMs / 1e3} s`;
    const onStalled = () => void answer.destroy(external(message));
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
