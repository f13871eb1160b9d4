/**
 * The worth of an idle container, by greedy dual: its setup time times how often its key is asked for, for
 * each GPU that it holds, on top of a clock that rises to the worth of the container that was stopped last. A
 * container that is not used for long falls behind. The second container of a key is worth a quarter, the
 * third a ninth.
 */
import type { Box, Container } from "./box.ts";
import type { Demand } from "./demand.ts";
import type { EstimateTable } from "./estimates.ts";
import type { Fleet } from "./fleet.ts";

export interface WorthRule {
  /** Returns the worth of a container. The least valuable is stopped first. */
  of(container: Container, now: number): number;
  /**
   * Notes that the containers of a box that have users are being used. To be called when the box has changed.
   */
  use(box: Box): void;
  /** Notes that containers are being stopped. */
  stop(containers: readonly Container[], now: number): void;
}

interface Known {
  estimates: EstimateTable;
  demand: Demand;
  fleet: Fleet;
}
export type MakeWorth = (known: Known) => WorthRule;

export class Worth implements WorthRule {
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

  of({ id, box, key, gpus, lane }: Container, now: number): number {
    // The box may not serve the container's class any more.
    const same = Math.max(1, this.#fleet.lane(lane).size);
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
