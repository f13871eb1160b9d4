/**
 * Large answers of all containers are read one at a time: an answer is in memory as bytes, as text
 * and as values, which may be twenty times that. The others wait unread, in the socket.
 */
import type { IncomingMessage } from "node:http";
import { external } from "../containers/failure.ts";
import { Mutex } from "../lib/mutex.ts";
import { MEGABYTE, ReadTurn, TURN_MS } from "./read-turn.ts";

export class LargeReads {
  readonly #mutex = new Mutex();
  readonly #turnMs: number;

  /** Of a turn. */
  constructor(turnMs = TURN_MS) {
    this.#turnMs = turnMs;
  }

  /** For one answer; `end` is for those who wait. */
  open(answer: IncomingMessage, end: AbortSignal): LargeRead {
    const turnMs = this.#turnMs;
    const message = `of a large answer of the container less than 1 MB came in ${turnMs / 1e3} s`;
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
   * Told after every piece how much there is of what is in memory. Waits for its turn once that is
   * large, and ends it once that is not.
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
