/**
 * Work that several callers share: started by the first of them, aborted when the last has left.
 */
import { untilAborted } from "../../../src/lib/timeout.ts";

export interface Releasable {
  release(): void;
}

/** @param participants those who currently wait, in order of arrival */
type Work<T, A> = (stop: AbortSignal, participants: Iterable<A>) => Promise<T>;

interface Share<T, A> {
  result: Promise<T>;
  stop: AbortController;
  waiting: Set<{ participant: A }>;
}

export class SharedWork<T extends Releasable, A> {
  readonly #running = new Map<string, Share<T, A>>();

  /**
   * Joins the work of this name, or starts it. The result is released when all participants have released it.
   * @throws the error of the work; the signal's reason, which does not affect the others
   */
  async join(name: string, participant: A, signal: AbortSignal, work: Work<T, A>): Promise<T> {
    signal.throwIfAborted();
    const share = this.#running.get(name) ?? this.#begin(name, work);
    const entry = { participant };
    share.waiting.add(entry);
    const release = () => {
      if (share.waiting.delete(entry) && share.waiting.size === 0) this.#end(name, share);
    };
    try {
      return { ...(await untilAborted(share.result, signal)), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  #begin(name: string, work: Work<T, A>): Share<T, A> {
    const stop = new AbortController();
    const waiting = new Set<{ participant: A }>();
    const participants = {
      [Symbol.iterator]: () => Array.from(waiting, ({ participant }) => participant).values(),
    };
    // The work starts after the first participant is added.
    const result = Promise.resolve().then(() => work(stop.signal, participants));
    const share = { result, stop, waiting };
    const forget = () => this.#forget(name, share);
    result.then(forget, forget);
    this.#running.set(name, share);
    return share;
  }

  #end(name: string, share: Share<T, A>): void {
    this.#forget(name, share);
    share.stop.abort();
    share.result.then(
      (result) => result.release(),
      () => {},
    );
  }

  #forget(name: string, share: Share<T, A>): void {
    if (this.#running.get(name) === share) this.#running.delete(name);
  }
}
