/** One at a time, in the order in which they came. */
import { untilAborted } from "../../../src/lib/timeout.ts";

export class Mutex {
  #last: Promise<void> = Promise.resolve();
  #length = 0;

  /** How many have their turn or wait for it. */
  get length(): number {
    return this.#length;
  }

  /** @throws what the work throws; the signal's reason, when that comes before the turn does */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const leave = await this.enter(signal);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /**
   * Resolves when it is one's turn, with what ends it, to be called once.
   * @throws the signal's reason, when that comes first
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    const before = this.#last;
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    this.#last = before.then(() => over);
    this.#length += 1;
    const leave = () => {
      this.#length -= 1;
      end();
    };
    try {
      await untilAborted(before, signal);
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }
}
