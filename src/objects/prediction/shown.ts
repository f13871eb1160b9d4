/**
 * Which events readers may see. What a runner reports is shown when it comes. What the prediction
 * says itself (a retry, an end) is shown once it is durable, and nothing after it before: the bodies
 * of streams leave an object at once, while its other replies wait until what it wrote is durable.
 */
import { MAX_UNSTORED } from "./log.ts";

export class Shown {
  /** The id of the last event that is known to be durable. */
  #durable: number;
  /** While events are held: the id of the last one shown, and of the last one held. */
  #from = 0;
  #to = 0;

  constructor(durable: number) {
    this.#durable = durable;
  }

  get held(): boolean {
    return this.#durable < this.#to;
  }

  /** The id of the last event that may be shown, of a log that ends with `last`. */
  upTo(last: number): number {
    return this.held ? Math.max(this.#from, this.#durable) : last;
  }

  /** Whether a reader who was shown all up to `last` could see too much get lost. */
  exceededBy(last: number): boolean {
    return last - this.#durable > MAX_UNSTORED;
  }

  /** Shows nothing after `from` until all up to `to` is durable. */
  hold(from: number, to: number): void {
    if (!this.held) this.#from = from;
    this.#to = to;
  }

  /** All up to this id is durable. @returns whether readers may see more by that */
  durableTo(id: number): boolean {
    const before = this.upTo(this.#to);
    this.#durable = Math.max(this.#durable, id);
    return this.upTo(this.#to) > before;
  }
}
