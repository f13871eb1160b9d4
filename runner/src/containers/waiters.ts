/** Jobs that wait for a container, in order of arrival. */
import type { JobHardware } from "../../../src/protocol/runner.ts";
import type { Specification } from "./specification.ts";

/**
 * About as long as another model takes to load: switching more often would mean loading all the
 * time.
 */
const MAX_WAIT_MS = 60_000;

export interface Waiter {
  specification: Specification;
  since: number;
}

export class Waiters {
  readonly #queue: Waiter[] = [];

  add(specification: Specification): Waiter {
    const waiter = { specification, since: performance.now() };
    this.#queue.push(waiter);
    return waiter;
  }

  remove(waiter: Waiter): void {
    this.#queue.splice(this.#queue.indexOf(waiter), 1);
  }

  /** Whether the first of them has waited so long that others may not go before it. */
  mustWait(waiter: Waiter): boolean {
    const [first = waiter] = this.#queue;
    return first !== waiter && performance.now() - first.since > MAX_WAIT_MS;
  }

  /** Whether this one is to have a container of its own: those behind it will share that. */
  leads(waiter: Waiter): boolean {
    const { key, maxConcurrency } = waiter.specification;
    const alike = this.#queue.filter(({ specification }) => specification.key === key);
    return alike.indexOf(waiter) % maxConcurrency === 0;
  }

  /** The classes of the containers for those who came before. */
  ahead(waiter: Waiter): JobHardware[] {
    const before = this.#queue.slice(0, this.#queue.indexOf(waiter));
    return before
      .filter((one) => this.leads(one))
      .map(({ specification }) => specification.hardware);
  }
}
