/** A mutex that serves its waiters in order and whose waiters can be aborted. */
import { untilAborted } from "../../../src/lib/timeout.ts";

export class Mutex {
  #last: Promise<void> = Promise.resolve();
  #length = 0;

  /** How many hold the lock or wait for it. */
  get length(): number {
    return this.#length;
  }

  /**
   * @throws what the work throws; the signal's reason if it is aborted before the lock is acquired
   */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const leave = await this.enter(signal);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /**
   * Acquires the lock. @returns a function that releases it, to be called once
   * @throws the signal's reason if it is aborted first
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const isFree = this.#length === 0;
    const before = this.#last;
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    this.#last = isFree ? over : before.then(() => over);
    this.#length += 1;
    const leave = () => {
      this.#length -= 1;
      end();
    };
    if (isFree) return leave;
    try {
      await untilAborted(before, signal);
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }
}
