/** Recent demand for each key: a count that halves with each half-life. */
import { z } from "zod";

export const HALF_LIFE_MS = 1_800_000;
/** The most keys: those that were not asked for longest are forgotten first. */
const MAX_KEYS = 5_000;

const count = z.object({ asks: z.number(), at: z.number() });
type Count = z.infer<typeof count>;

export const savedDemand = z.array(z.tuple([z.string(), count]));
export type SavedDemand = z.infer<typeof savedDemand>;

export class Demand {
  /** Counts in the order in which their keys were last asked for. */
  #counts = new Map<string, Count>();

  add(key: string, now: number): void {
    const asks = this.of(key, now) + 1;
    const before = this.#counts.get(key)?.at ?? now;
    this.#counts.delete(key);
    // A job that was asked for before comes again when the pool restarts.
    this.#counts.set(key, { asks, at: Math.max(now, before) });
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > MAX_KEYS && oldest !== undefined) this.#counts.delete(oldest);
  }

  /** Takes back an ask: the key was not asked for after all. */
  take(key: string, now: number): void {
    const count = this.#counts.get(key);
    if (count)
      this.#counts.set(key, {
        asks: Math.max(0, this.of(key, now) - 1),
        at: Math.max(now, count.at),
      });
  }

  has(key: string): boolean {
    return this.#counts.has(key);
  }

  of(key: string, now: number): number {
    const count = this.#counts.get(key);
    return count ? count.asks * 2 ** (-Math.max(0, now - count.at) / HALF_LIFE_MS) : 0;
  }

  save(): SavedDemand {
    return [...this.#counts];
  }

  load(saved: SavedDemand): void {
    this.#counts = new Map(saved);
  }
}
