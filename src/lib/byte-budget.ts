/**
 * A limit on the bytes held in memory at once, over all holders. Requests that do not fit wait, and
 * owners take turns. Holders that each have a part and wait for the rest would deadlock, so there is
 * extra room for one complete holder, which always finishes.
 */

import { holdForRequest, LAPSE_MS, requireClient } from "./current-request.ts";
import { sleep } from "./timeout.ts";

/**
 * A waiting request polls for its turn at this interval. `release` does not wake it, since that is
 * another request, and after such a wake-up one's call to R2 was never answered (workerd 2026-10).
 */
const LOOK_MS = 10;

export interface ByteLimits {
  /** Bytes for all owners together, and for one of them. */
  shared: number;
  share: number;
  /** The number of requests of one owner that may wait. More are refused at once. */
  waiting: number;
  /** The longest time that a request waits, ms. */
  patience_ms: number;
}

/** The bytes did not become available in time. */
export class BudgetExceeded extends Error {}

/** A holder of bytes: one request body, say. */
export class Held {
  readonly owner: string;
  bytes = 0;
  /** While it holds some or waits for some: gives them back. */
  leave: (() => void) | undefined;
  countsUntil = 0;

  constructor(owner: string) {
    this.owner = owner;
  }
}

interface Waiter {
  held: Held;
  bytes: number;
  isGiven: boolean;
}

export class ByteBudget {
  readonly #limits: ByteLimits;
  #shared = 0;
  readonly #shares = new Map<string, number>();
  readonly #holders = new Set<Held>();
  /** The holder that has the extra room. Its bytes do not count as shared. */
  #favoured: Held | undefined;
  /** The waiting requests by owner, in the order of their turns. */
  readonly #waiters = new Map<string, Waiter[]>();

  constructor(limits: ByteLimits) {
    this.#limits = limits;
  }

  /**
   * Takes the bytes, waiting until there is room.
   * @throws BudgetExceeded; the reason of the abort of a request that has ended
   */
  async take(held: Held, bytes: number): Promise<void> {
    requireClient();
    held.leave ??= this.#enter(held);
    if (this.#fits(held, bytes)) return this.#give(held, bytes);
    this.#endLapsed();
    const queue = this.#waiters.get(held.owner) ?? [];
    if (queue.length === this.#limits.waiting) throw new BudgetExceeded();
    const waiter: Waiter = { held, bytes, isGiven: false };
    this.#waiters.set(held.owner, [...queue, waiter]);
    this.#serve();
    for (let ms = 0; ms < this.#limits.patience_ms && !waiter.isGiven; ms += LOOK_MS) {
      await sleep(LOOK_MS);
      this.#endLapsed();
    }
    if (waiter.isGiven && this.#holders.has(held)) return;
    this.#leave(waiter);
    throw new BudgetExceeded();
  }

  /** Releases everything it holds and cancels what it waits for. */
  release(held: Held): void {
    held.leave?.();
  }

  /** @returns a function that releases all bytes of the holder */
  #enter(held: Held): () => void {
    this.#holders.add(held);
    return holdForRequest({
      renew: () => {
        held.countsUntil = Date.now() + LAPSE_MS;
      },
      leave: () => this.#end(held),
    });
  }

  #end(held: Held): void {
    held.leave = undefined;
    this.#holders.delete(held);
    for (const waiter of this.#all()) if (waiter.held === held) this.#leave(waiter);
    if (held === this.#favoured) this.#favoured = undefined;
    else this.#share(held.owner, -held.bytes);
    held.bytes = 0;
    this.#serve();
  }

  #endLapsed(): void {
    const now = Date.now();
    for (const held of [...this.#holders]) if (held.countsUntil < now) held.leave?.();
  }

  #fits(held: Held, bytes: number): boolean {
    const { shared, share } = this.#limits;
    const own = this.#shares.get(held.owner) ?? 0;
    return held === this.#favoured || (this.#shared + bytes <= shared && own + bytes <= share);
  }

  #give(held: Held, bytes: number): void {
    held.bytes += bytes;
    if (held !== this.#favoured) this.#share(held.owner, bytes);
  }

  #share(owner: string, bytes: number): void {
    this.#shared += bytes;
    const own = (this.#shares.get(owner) ?? 0) + bytes;
    if (own > 0) this.#shares.set(owner, own);
    else this.#shares.delete(owner);
  }

  #serve(): void {
    if (!this.#favoured) this.#favourNext();
    for (const waiter of this.#all()) {
      if (!this.#fits(waiter.held, waiter.bytes)) continue;
      this.#leave(waiter);
      this.#give(waiter.held, waiter.bytes);
      waiter.isGiven = true;
    }
  }

  #favourNext(): void {
    const [next] = this.#waiters;
    const [owner, [first] = []] = next ?? [];
    if (owner === undefined || !first) return;
    this.#share(owner, -first.held.bytes);
    this.#favoured = first.held;
    const queue = this.#waiters.get(owner) ?? [];
    this.#waiters.delete(owner);
    this.#waiters.set(owner, queue);
  }

  #all(): Waiter[] {
    return [...this.#waiters.values()].flat();
  }

  #leave(waiter: Waiter): void {
    const { owner } = waiter.held;
    const queue = this.#waiters.get(owner)?.filter((one) => one !== waiter) ?? [];
    if (queue.length > 0) this.#waiters.set(owner, queue);
    else this.#waiters.delete(owner);
  }
}
