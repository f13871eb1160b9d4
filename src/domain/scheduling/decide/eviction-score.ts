/**
 * The eviction score of an idle container, by greedy dual: its setup time times how often its key is asked
 * for, for each GPU that it holds, on top of a clock that rises to the score of the container that was stopped
 * last. A container that is not used for long falls behind. The second container of a key has a quarter of it,
 * the third a ninth.
 */

import { z } from "zod";
import type { Box, Container } from "./box.ts";
import type { EstimateTable } from "./estimates.ts";
import type { Fleet } from "./fleet.ts";

export interface EvictionRule {
  /** Returns the score of a container. The one with the lowest is stopped first. */
  of(container: Container, now: number): number;
  /** Notes that containers with users are being used. To be called when the box has changed. */
  use(box: Box): void;
  stop(containers: readonly Container[], now: number): void;
}

interface Known {
  estimates: EstimateTable;
  demand: Demand;
  fleet: Fleet;
}
export type MakeEvictionRule = (known: Known) => EvictionRule;

export class EvictionScores implements EvictionRule {
  #clock = 0;
  /** The value of the clock when each container was used last, by its name. */
  readonly #used = new WeakMap<Box, Map<string, number>>();
  readonly #estimates: EstimateTable;
  readonly #demand: Demand;
  readonly #fleet: Fleet;

  constructor({ estimates, demand, fleet }: Known) {
    this.#estimates = estimates;
    this.#demand = demand;
    this.#fleet = fleet;
  }

  of({ id, box, key, gpus, queueKey }: Container, now: number): number {
    // The box may not serve the container's class any more.
    const same = Math.max(1, this.#fleet.containersOf(queueKey).size);
    const wanted = this.#estimates.setup(key).mean * this.#demand.of(key, now);
    const used = this.#used.get(box)?.get(id) ?? 0;
    return used + wanted / Math.max(1, gpus) / same ** 2;
  }

  use(box: Box): void {
    const before = this.#used.get(box);
    const used = new Map<string, number>();
    for (const { id, users } of box.containers.values())
      used.set(id, users > 0 ? this.#clock : (before?.get(id) ?? this.#clock));
    this.#used.set(box, used);
  }

  stop(containers: readonly Container[], now: number): void {
    for (const one of containers) this.#clock = Math.max(this.#clock, this.of(one, now));
  }
}

export const HALF_LIFE_MS = 1_800_000;
/** The most keys: those that were not asked for longest are forgotten first. */
const MAX_KEYS = 5_000;

const count = z.object({ asks: z.number(), at: z.number() });
type Count = z.infer<typeof count>;

export const savedDemand = z.array(z.tuple([z.string(), count]));
type SavedDemand = z.infer<typeof savedDemand>;

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
