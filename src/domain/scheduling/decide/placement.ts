/** The boxes on which containers of a class can be started, and the idle containers that are stopped for that. */
import type { Box, Container } from "./box.ts";
import type { Job } from "./line.ts";
import type { PoolState } from "./pool-state.ts";

/** The most boxes that are compared: the lowest score of so many is hardly higher than of all. */
const EVICTION_SAMPLE = 20;

export class StartBoxes {
  readonly #boxes: Box[];
  readonly #gpus: number;
  readonly hasFreeBox: boolean;

  constructor({ fleet }: PoolState, hardware: string, gpus: number) {
    this.#gpus = gpus;
    this.#boxes = [];
    let hasFreeBox = false;
    for (const box of fleet.boxes.values()) {
      if (!box.takes || !box.couldFit(gpus) || !box.serves(hardware)) continue;
      this.#boxes.push(box);
      hasFreeBox ||= box.fits(gpus);
    }
    this.hasFreeBox = hasFreeBox;
  }

  get none(): boolean {
    return this.#boxes.length === 0;
  }

  /** Returns a box with room: one that has the image, then the one left with the fewest GPUs. */
  boxFor({ ask: { image } }: Job, isAllowed: (box: Box) => boolean): Box | undefined {
    if (!this.hasFreeBox) return undefined;
    let best: { box: Box; hasImage: boolean } | undefined;
    for (const box of this.#boxes) {
      if (!box.fits(this.#gpus) || !isAllowed(box)) continue;
      const hasImage = box.hasImage(image);
      const isBetter =
        !best || (hasImage === best.hasImage ? box.freeGpus < best.box.freeGpus : hasImage);
      if (isBetter) best = { box, hasImage };
    }
    return best?.box;
  }

  /** Returns the box whose containers to stop have the lowest score. */
  evictionFor(
    { ask, position }: Job,
    isAllowed: (box: Box) => boolean,
    { evictionScores }: PoolState,
    now: number,
  ): Eviction | undefined {
    let best: Eviction | undefined;
    let looked = 0;
    const count = this.#boxes.length;
    // Searches of different jobs begin at different boxes, if there are many.
    const from = count > EVICTION_SAMPLE ? position * EVICTION_SAMPLE : 0;
    for (let n = 0; n < count && looked < EVICTION_SAMPLE; n += 1) {
      const box = this.#boxes[(from + n) % count];
      if (!box || !isAllowed(box)) continue;
      looked += 1;
      const eviction = evictionOn(box, ask.gpus, (one) => evictionScores.of(one, now));
      if (eviction && (!best || eviction.score < best.score)) best = eviction;
    }
    return best;
  }
}

/** The containers that a job's start stops: those with the lowest scores, and only as many as needed. */

interface Eviction {
  box: Box;
  stop: Container[];
  /** The highest score of these containers. */
  score: number;
}

type ScoreOf = (one: Container) => number;

function evictionOn(box: Box, gpus: number, score: ScoreOf): Eviction | undefined {
  if (!box.couldFit(gpus)) return undefined;
  const missing = gpus - box.freeGpus;
  return missing <= 1 ? evictOne(box, missing, score) : evictSeveral(box, missing, score);
}

/** Returns the idle container with the lowest score that is enough by itself: the frequent case. */
function evictOne(box: Box, missing: number, score: ScoreOf): Eviction | undefined {
  let best: { one: Container; score: number } | undefined;
  for (const one of box.idle()) {
    if (one.gpus < missing) continue;
    const its = score(one);
    if (!best || its < best.score) best = { one, score: its };
  }
  return best && { box, stop: [best.one], score: best.score };
}

function evictSeveral(box: Box, missing: number, score: ScoreOf): Eviction | undefined {
  const isEnough = (stop: readonly Container[]) =>
    gpusOf(stop) >= missing && stop.length + box.freeContainers > 0;
  const scores = new Map([...box.idle()].map((one) => [one, score(one)]));
  let stop: Container[] = [];
  for (const [one] of [...scores].toSorted(([, a], [, b]) => a - b)) {
    if (isEnough(stop)) break;
    stop.push(one);
  }
  if (!isEnough(stop)) return undefined;
  // A container that frees many GPUs may make those before it needless.
  for (const one of stop.toReversed()) {
    const rest = stop.filter((other) => other !== one);
    if (isEnough(rest)) stop = rest;
  }
  return { box, stop, score: Math.max(...stop.map((one) => scores.get(one) ?? 0)) };
}

const gpusOf = (containers: readonly Container[]): number =>
  containers.reduce((sum, { gpus }) => sum + gpus, 0);
