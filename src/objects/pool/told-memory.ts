/**
 * How much a pool keeps of what its runners tell. One snapshot may be large, and one token may have a
 * thousand runners: together they would fill the isolate, which has 128 MB for all of its objects.
 */
import type { RunnerSnapshot } from "../../protocol/runner-state.ts";
import type { PoolTelling } from "./rpc-types.ts";

/** About bytes, where text is Latin. A runner with 8 containers and 40 images has about 10,000. */
const MAX_SIZE = 16_000_000;
/** What an object takes beside its texts: a container is kept as it was told, and as it is scheduled. */
const OBJECT = 300;
const NUMBER = 16;

const sumOf = <T>(things: Iterable<T>, sizeOf: (thing: T) => number): number => {
  let sum = 0;
  for (const thing of things) sum += sizeOf(thing);
  return sum;
};

/** What a runner tells takes about so many bytes. */
export const toldSize = (
  { containers, devices, jobs }: Pick<RunnerSnapshot, "containers" | "devices" | "jobs">,
  images: Iterable<string>,
): number =>
  OBJECT +
  NUMBER * jobs.length +
  sumOf(images, (image) => NUMBER + image.length) +
  sumOf(devices, ({ id, name }) => OBJECT + id.length + name.length) +
  sumOf(
    containers,
    ({ name, key, image, hardware, runs_ms }) =>
      OBJECT +
      name.length +
      key.length +
      image.length +
      hardware.length +
      2 * NUMBER * runs_ms.length,
  );

export class ToldMemory {
  readonly #max: number;
  readonly #sizes = new Map<string, number>();
  #sum = 0;

  constructor(max = MAX_SIZE) {
    this.#max = max;
  }

  /**
   * As much of what a runner tells as there is room for: without its images it only gets more downloads.
   * @returns also the runners that it takes the place of; undefined if it tells more than its share
   */
  fit(
    telling: PoolTelling,
    previous: { session: string; images: ReadonlySet<string> } | undefined,
  ): { telling: PoolTelling; replaced: string[] } | undefined {
    const { runner_id, session, snapshot } = telling;
    const images = telling.images ?? (previous?.session === session ? previous.images : []);
    const replaced = this.admit(runner_id, toldSize(snapshot, images));
    if (replaced) return { telling, replaced };
    const without = this.admit(runner_id, toldSize(snapshot, []));
    return without && { telling: { ...telling, images: [] }, replaced: without };
  }

  /**
   * Where all of it is taken, one that tells no more than an equal share gets room from the largest.
   * @returns the runners that it takes the place of; undefined if it tells more than its share
   */
  admit(runnerId: string, size: number): string[] | undefined {
    const others = this.#sum - (this.#sizes.get(runnerId) ?? 0);
    const runners = this.#sizes.size + (this.#sizes.has(runnerId) ? 0 : 1);
    let excess = others + size - this.#max;
    if (excess > 0 && size > this.#max / runners) return undefined;
    const replaced: string[] = [];
    for (const [id, other] of excess > 0 ? this.#largestFirst(runnerId) : []) {
      if (excess <= 0) break;
      excess -= other;
      replaced.push(id);
    }
    for (const id of replaced) this.delete(id);
    this.delete(runnerId);
    this.#sizes.set(runnerId, size);
    this.#sum += size;
    return replaced;
  }

  /** Without taking the place of any. @returns whether there is room */
  take(runnerId: string, size: number): boolean {
    if (this.#sum + size > this.#max) return false;
    return this.admit(runnerId, size) !== undefined;
  }

  delete(runnerId: string): void {
    this.#sum -= this.#sizes.get(runnerId) ?? 0;
    this.#sizes.delete(runnerId);
  }

  #largestFirst(but: string): [string, number][] {
    return [...this.#sizes].filter(([id]) => id !== but).toSorted(([, a], [, b]) => b - a);
  }
}
