/**
 * Which events readers may see. What a runner reports is shown when it comes, at most MAX_AHEAD events
 * that are not durable. What the prediction says itself (a retry, an end) is shown once it is durable, and
 * nothing after it before: the bodies of streams leave an object at once, while its other replies
 * wait until what it wrote is durable.
 */
import { MAX_AHEAD } from "./log.ts";

export class Shown {
  /** The id of the last event that is known to be durable. */
  #durable: number;
  /** All after `from` is held until all up to `to` is durable. */
  #from = 0;
  #to = 0;

  constructor(durable: number) {
    this.#durable = durable;
  }

  /** The id of the last event that may be shown, of a log that ends with `last`. */
  upTo(last: number): number {
    const shown = Math.min(last, this.#durable + MAX_AHEAD);
    return this.#durable < this.#to ? Math.min(shown, Math.max(this.#from, this.#durable)) : shown;
  }

  hold(from: number, to: number): void {
    if (this.#durable >= this.#to) this.#from = from;
    this.#to = to;
  }

  durableTo(id: number): void {
    this.#durable = Math.max(this.#durable, id);
  }
}
