/**
 * The runners of a pool and the choice among them: warm first (a container that it may run in is up),
 * then one that has the image, then any; of equals, the one with the most room.
 */
import type { WaitingJob } from "../../protocol/queue.ts";

export interface RunnerState {
  runner_id: string;
  session: string;
  free: number;
  /** Keys of containers. */
  warm: ReadonlySet<string>;
  images: ReadonlySet<string>;
}

/** What decides where a job goes. */
export type Placed = Pick<WaitingJob, "image" | "container_key">;

const WARM = 2_000_000;
const HAS_IMAGE = 1_000_000;

export class Placement<S extends RunnerState> {
  readonly #seats = new Map<string, S>();

  get seats(): IterableIterator<S> {
    return this.#seats.values();
  }

  get(runnerId: string): S | undefined {
    return this.#seats.get(runnerId);
  }

  seat(seat: S): void {
    this.#seats.set(seat.runner_id, seat);
  }

  leave(runnerId: string): void {
    this.#seats.delete(runnerId);
  }

  /** The best seat with room, among those that `usable` allows. */
  pick({ image, container_key }: Placed, usable: (seat: S) => boolean): S | undefined {
    let best: S | undefined;
    let bestScore = 0;
    for (const seat of this.#seats.values()) {
      if (seat.free <= 0 || !usable(seat)) continue;
      const readiness = seat.warm.has(container_key)
        ? WARM
        : seat.images.has(image)
          ? HAS_IMAGE
          : 0;
      const score = seat.free + readiness;
      if (score > bestScore) [best, bestScore] = [seat, score];
    }
    return best;
  }
}
