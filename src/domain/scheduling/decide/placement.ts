/** Places where containers of a class can be started. */
import type { Box, Container } from "./box.ts";
import type { Job } from "./line.ts";
import type { PoolState } from "./pool-state.ts";

/**
 * The most boxes on which idle containers to stop are looked for: the least of so many is hardly worth more
 * than the least of all.
 */
const SWAP_SAMPLE = 20;

export class Places {
  readonly #boxes: Box[];
  readonly #gpus: number;
  readonly hasRoom: boolean;

  constructor({ fleet }: PoolState, hardware: string, gpus: number) {
    this.#gpus = gpus;
    this.#boxes = [];
    let hasRoom = false;
    for (const box of fleet.boxes.values()) {
      if (!box.takes || !box.couldHaveRoom(gpus) || !box.serves(hardware)) continue;
      this.#boxes.push(box);
      hasRoom ||= box.hasRoom(gpus);
    }
    this.hasRoom = hasRoom;
  }

  get none(): boolean {
    return this.#boxes.length === 0;
  }

  /**
   * Returns a box with room: one that has the image first, then the one that is left with the fewest GPUs.
   */
  roomFor({ ask: { image } }: Job, isAllowed: (box: Box) => boolean): Box | undefined {
    if (!this.hasRoom) return undefined;
    let best: { box: Box; hasImage: boolean } | undefined;
    for (const box of this.#boxes) {
      if (!box.hasRoom(this.#gpus) || !isAllowed(box)) continue;
      const hasImage = box.hasImage(image);
      const isBetter =
        !best || (hasImage === best.hasImage ? box.freeGpus < best.box.freeGpus : hasImage);
      if (isBetter) best = { box, hasImage };
    }
    return best?.box;
  }

  /** Returns the box where the containers to stop are worth least. */
  swapFor(
    { ask, place }: Job,
    isAllowed: (box: Box) => boolean,
    { worth }: PoolState,
    now: number,
  ): Swap | undefined {
    let best: Swap | undefined;
    let looked = 0;
    const count = this.#boxes.length;
    // Searches of different jobs begin at different boxes, if there are many.
    const from = count > SWAP_SAMPLE ? place * SWAP_SAMPLE : 0;
    for (let n = 0; n < count && looked < SWAP_SAMPLE; n += 1) {
      const box = this.#boxes[(from + n) % count];
      if (!box || !isAllowed(box)) continue;
      looked += 1;
      const swap = swapOn(box, ask.gpus, (one) => worth.of(one, now));
      if (swap && (!best || swap.worth < best.worth)) best = swap;
    }
    return best;
  }
}

/**
 * The containers that are stopped on a box to make room for a job: those worth least, and no more than
 * needed.
 */

interface Swap {
  box: Box;
  stop: Container[];
  /** The worth of the most valuable of these containers. */
  worth: number;
}

type Worth = (one: Container) => number;

/** @param gpus that the job needs */
function swapOn(box: Box, gpus: number, worth: Worth): Swap | undefined {
  if (!box.couldHaveRoom(gpus)) return undefined;
  const missing = gpus - box.freeGpus;
  return missing <= 1 ? swapOne(box, missing, worth) : swapSeveral(box, missing, worth);
}

/**
 * Returns the least valuable idle container that is enough by itself: by far the most frequent case, and
 * decisions are many.
 */
function swapOne(box: Box, missing: number, worth: Worth): Swap | undefined {
  let best: { one: Container; worth: number } | undefined;
  for (const one of box.idle()) {
    if (one.gpus < missing) continue;
    const its = worth(one);
    if (!best || its < best.worth) best = { one, worth: its };
  }
  return best && { box, stop: [best.one], worth: best.worth };
}

function swapSeveral(box: Box, missing: number, worth: Worth): Swap | undefined {
  const isEnough = (stop: readonly Container[]) =>
    gpusOf(stop) >= missing && stop.length + box.freeContainers > 0;
  const worths = new Map([...box.idle()].map((one) => [one, worth(one)]));
  let stop: Container[] = [];
  for (const [one] of [...worths].toSorted(([, a], [, b]) => a - b)) {
    if (isEnough(stop)) break;
    stop.push(one);
  }
  if (!isEnough(stop)) return undefined;
  // A container that frees many GPUs may make those before it needless.
  for (const one of stop.toReversed()) {
    const rest = stop.filter((other) => other !== one);
    if (isEnough(rest)) stop = rest;
  }
  return { box, stop, worth: Math.max(...stop.map((one) => worths.get(one) ?? 0)) };
}

const gpusOf = (containers: readonly Container[]): number =>
  containers.reduce((sum, { gpus }) => sum + gpus, 0);
