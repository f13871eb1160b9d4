/**
 * The containers that are stopped on a box to make room for a job: those worth least, and no more than
 * needed.
 */
import type { Box, Container } from "./box.ts";

export interface Swap {
  box: Box;
  stop: Container[];
  /** The worth of the most valuable of these containers. */
  worth: number;
}

type Worth = (one: Container) => number;

/** @param gpus that the job needs */
export function swapOn(box: Box, gpus: number, worth: Worth): Swap | undefined {
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
