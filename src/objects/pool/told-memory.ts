/**
 * How much a pool keeps of what its runners tell. One snapshot may be large, and one token may have a
 * thousand runners: together they would fill the isolate, which has 128 MB for all of its objects. Room is
 * shared by the tokens, and that of a token by its runners: one that floods hurts its own alone.
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

interface Told {
  token: string;
  size: number;
}

export class ToldMemory {
  readonly #max: number;
  readonly #told = new Map<string, Told>();
  /** What the runners of each token have told. */
  readonly #tokens = new Map<string, { size: number; runners: number }>();
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
    const { runner_id, token_id: token, session, snapshot } = telling;
    const images = telling.images ?? (previous?.session === session ? previous.images : []);
    const replaced = this.admit(runner_id, { token, size: toldSize(snapshot, images) });
    if (replaced) return { telling, replaced };
    const without = this.admit(runner_id, { token, size: toldSize(snapshot, []) });
    return without && { telling: { ...telling, images: [] }, replaced: without };
  }

  /**
   * Where all of it is taken, a token that has no more than an equal share gets room from the largest one. Of a
   * token that has more, a runner that tells no more than an equal share of that gets room from its largest.
   * @returns the runners that it takes the place of; undefined if it tells more than its share
   */
  admit(runnerId: string, told: Told): string[] | undefined {
    const before = this.#told.get(runnerId);
    this.#set(runnerId, told);
    const replaced = this.#replacedBy(runnerId, told);
    if (replaced) for (const id of replaced) this.delete(id);
    else if (before) this.#set(runnerId, before);
    else this.delete(runnerId);
    return replaced;
  }

  /** Without taking the place of any. @returns whether there is room */
  take(runnerId: string, told: Told): boolean {
    if (this.#sum + told.size > this.#max) return false;
    this.#set(runnerId, told);
    return true;
  }

  delete(runnerId: string): void {
    const told = this.#told.get(runnerId);
    if (!told) return;
    this.#told.delete(runnerId);
    this.#count(told.token, -told.size, -1);
  }

  #set(runnerId: string, told: Told): void {
    this.delete(runnerId);
    this.#told.set(runnerId, told);
    this.#count(told.token, told.size, 1);
  }

  #count(token: string, size: number, runners: number): void {
    const counted = this.#tokens.get(token) ?? { size: 0, runners: 0 };
    counted.size += size;
    counted.runners += runners;
    if (counted.runners === 0) this.#tokens.delete(token);
    else this.#tokens.set(token, counted);
    this.#sum += size;
  }

  #replacedBy(runnerId: string, { token, size }: Told): string[] | undefined {
    let excess = this.#sum - this.#max;
    if (excess <= 0) return [];
    const own = this.#tokens.get(token) ?? { size, runners: 1 };
    const share = this.#max / this.#tokens.size;
    const isOver = own.size > share;
    // A refusal looks at no other runner: a pool that is full may refuse hundreds in a second.
    if (isOver && size > share / own.runners) return undefined;
    const others = [...this.#told]
      .filter(([id, one]) => id !== runnerId && (!isOver || one.token === token))
      .toSorted(([, a], [, b]) => a.size - b.size);
    const groups = [...Map.groupBy(others, ([, one]) => one.token)].map(([one, runners]) => ({
      left: this.#tokens.get(one)?.size ?? 0,
      runners,
    }));
    const replaced: string[] = [];
    while (excess > 0) {
      const largest = groups.reduce((a, b) => (b.left > a.left ? b : a));
      const [id, one] = largest.runners.pop() ?? [];
      if (id === undefined || one === undefined) break;
      largest.left = largest.runners.length > 0 ? largest.left - one.size : 0;
      excess -= one.size;
      replaced.push(id);
    }
    return replaced;
  }
}
