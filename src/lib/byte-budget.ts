/**
 * A bound on the bytes that are held at a time, over all who hold some. What does not fit waits,
 * owners in turn. Whoever holds a part and waits for the rest would wait for ever for others who do
 * the same: so there is room beside for one whole, and whoever has it goes on to the end.
 */

export interface Room {
  /** Bytes of all, and of one owner. */
  shared: number;
  share: number;
  /** How many of an owner may wait: what comes then is refused at once. */
  waiting: number;
  /** For how long, ms. */
  patience: number;
}

/** There was no room in time. */
export class NoRoom extends Error {}

/** Bytes that somebody holds. */
interface Held {
  owner: string;
  bytes: number;
}

interface Waiter {
  held: Held;
  bytes: number;
  go: () => void;
}

export class ByteBudget {
  readonly #room: Room;
  #shared = 0;
  readonly #shares = new Map<string, number>();
  /** Who has the room beside: its bytes are not among the shared ones. */
  #favoured: Held | undefined;
  /** By owner, whose turn is next first. */
  readonly #waiters = new Map<string, Waiter[]>();

  constructor(room: Room) {
    this.#room = room;
  }

  /** Counts them as held; waits until there is room. @throws NoRoom */
  async take(held: Held, bytes: number): Promise<void> {
    if (this.#fits(held, bytes)) return this.#give(held, bytes);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const queue = this.#waiters.get(held.owner) ?? [];
    if (queue.length === this.#room.waiting) throw new NoRoom();
    const waiter: Waiter = { held, bytes, go: resolve };
    this.#waiters.set(held.owner, [...queue, waiter]);
    const timer = setTimeout(() => {
      this.#leave(waiter);
      reject(new NoRoom());
    }, this.#room.patience);
    this.#serve();
    await promise.finally(() => clearTimeout(timer));
  }

  /** All that it holds; what it waits for is not given any more. */
  release(held: Held): void {
    for (const waiter of this.#all()) if (waiter.held === held) this.#leave(waiter);
    if (held === this.#favoured) this.#favoured = undefined;
    else this.#share(held.owner, -held.bytes);
    held.bytes = 0;
    this.#serve();
  }

  #fits(held: Held, bytes: number): boolean {
    const { shared, share } = this.#room;
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
      waiter.go();
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
