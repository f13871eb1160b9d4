/**
 * Large answers of all containers are read one at a time: an answer is in memory as bytes, as text
 * and as values, which may be twenty times that. The others wait unread, in the socket.
 */
import type { IncomingMessage } from "node:http";
import { external } from "../containers/failure.ts";
import { Turns } from "../turns.ts";

/** Bytes or characters: what most answers are below. As many of these are read as there are runs. */
const LARGE = 1024 ** 2;
/** For what is left of one, once it has its turn: 0.5 MB/s at most. */
const MOST_MS = 30_000;

export class LargeReads {
  readonly #turns = new Turns();
  readonly #most: number;

  /** `most`: milliseconds of a turn. */
  constructor(most = MOST_MS) {
    this.#most = most;
  }

  /** For one answer; `end` is for those who wait. */
  of(answer: IncomingMessage, end: AbortSignal): LargeRead {
    return new LargeRead(this.#turns, this.#most, answer, end);
  }
}

export class LargeRead {
  readonly #turns: Turns;
  readonly #most: number;
  readonly #answer: IncomingMessage;
  readonly #end: AbortSignal;
  #leave: (() => void) | undefined;
  #late: NodeJS.Timeout | undefined;

  constructor(turns: Turns, most: number, answer: IncomingMessage, end: AbortSignal) {
    this.#turns = turns;
    this.#most = most;
    this.#answer = answer;
    this.#end = end;
  }

  /**
   * Told after every piece how much there is of what is in memory. Waits for its turn once that is
   * large, and ends it once that is not.
   * @throws the signal's reason
   */
  async holds(size: number): Promise<void> {
    if (size <= LARGE) return this.done();
    if (this.#leave) return;
    this.#leave = await this.#turns.enter(this.#end);
    const words = `the container took more than ${this.#most / 1_000} s for a large answer`;
    this.#late = setTimeout(() => this.#answer.destroy(external(words)), this.#most);
  }

  done(): void {
    clearTimeout(this.#late);
    this.#leave?.();
    this.#leave = undefined;
  }
}
