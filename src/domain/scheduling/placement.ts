/**
 * The runners of a pool, and the choice among them: first a runner with a warm container for the job,
 * then one that has its image, then any; among equals the one with the most room.
 */
import type { WaitingJob } from "../../protocol/queue.ts";

export interface RunnerState {
  runner_id: string;
  session: string;
  /** The classes that it serves. */
  hardware: readonly string[];
  free: number;
  /** Keys of its running containers. */
  warm: ReadonlySet<string>;
  images: ReadonlySet<string>;
}

export type JobRequirements = Pick<WaitingJob, "hardware" | "image" | "container_key">;

/** A runner that need not download the image of a job. */
export interface Holder {
  runner_id: string;
  /** Whether a container of it is running, with room. */
  isWarm: boolean;
}

const WARM_SCORE = 2_000_000;
const IMAGE_SCORE = 1_000_000;

export class Placement<Runner extends RunnerState> {
  readonly #runners = new Map<string, Runner>();

  get runners(): IterableIterator<Runner> {
    return this.#runners.values();
  }

  get(runnerId: string): Runner | undefined {
    return this.#runners.get(runnerId);
  }

  add(runner: Runner): void {
    this.#runners.set(runner.runner_id, runner);
  }

  remove(runnerId: string): void {
    this.#runners.delete(runnerId);
  }

  /** Those that have its image, those with a container that has room for it first. */
  holders({ hardware, image, container_key }: JobRequirements): Holder[] {
    return [...this.#runners.values()]
      .filter((runner) => runner.hardware.includes(hardware))
      .map(({ runner_id, warm, images }) => ({
        runner_id,
        isWarm: warm.has(container_key),
        hasImage: images.has(image),
      }))
      .filter(({ isWarm, hasImage }) => isWarm || hasImage)
      .map(({ runner_id, isWarm }) => ({ runner_id, isWarm }))
      .toSorted((a, b) => Number(b.isWarm) - Number(a.isWarm));
  }

  /** The best runner of its class with room, among those that are `usable`. */
  pick(
    { hardware, image, container_key }: JobRequirements,
    usable: (runner: Runner) => boolean,
  ): Runner | undefined {
    let best: Runner | undefined;
    let bestScore = 0;
    for (const runner of this.#runners.values()) {
      if (runner.free <= 0 || !runner.hardware.includes(hardware) || !usable(runner)) continue;
      const readiness = runner.warm.has(container_key)
        ? WARM_SCORE
        : runner.images.has(image)
          ? IMAGE_SCORE
          : 0;
      const score = runner.free + readiness;
      if (score > bestScore) [best, bestScore] = [runner, score];
    }
    return best;
  }
}
