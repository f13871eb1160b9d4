/**
 * Large answers of all containers are read one at a time: an answer is in memory as bytes, as text
 * and as values, which may be twenty times that. The others wait unread, in the socket.
 */
import type { IncomingMessage } from "node:http";
import { external } from "../containers/failure.ts";
import { Mutex } from "../lib/mutex.ts";
import { MEGABYTE, ReadTurn, TURN_MS } from "./read-turn.ts";

export class LargeReads {
  readonly #line = new Mutex();
  readonly #milliseconds: number;

  /** Of a turn. */
  constructor(milliseconds = TURN_MS) {
    this.#milliseconds = milliseconds;
  }

  /** For one answer; `end` is for those who wait. */
  of(answer: IncomingMessage, end: AbortSignal): LargeRead {
    const milliseconds = this.#milliseconds;
    const words = `of a large answer of the container less than 1 MB came in ${milliseconds / 1e3} s`;
    const giveUp = () => void answer.destroy(external(words));
    return new LargeRead(new ReadTurn({ line: this.#line, milliseconds, end, giveUp }), end);
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
  async holds(size: number): Promise<void> {
    if (size <= MEGABYTE) return this.done();
    await this.#turn.holds(size);
    if (!this.#turn.begun) await this.#turn.begin(this.#end);
  }

  done(): void {
    this.#turn.end();
  }
}
