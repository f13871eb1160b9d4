/** Jobs that are held: a container will serve them before one of their own would be ready. */
import { type Container, canTake } from "./box.ts";
import type { EstimateTable } from "./estimates.ts";

/** The part of the expected time that is still to come once a run takes longer than expected. */
const OVERDUE = 0.25;
/** A wait for a warm container ends when it has taken this many times the expected wait. */
const PATIENCE = 1.5;
/** The shortest such wait: a box needs 0.2 s, and the way of the report, to say that a short run has ended. */
const LEAST_MS = 1_000;

/** @param wait the expected wait, in ms */
export const warmWaitMs = (wait: number): number => Math.max(wait * PATIENCE, LEAST_MS);

/**
 * Returns how long it takes, in ms, until the containers of a queue key serve the waiting jobs: the first, the
 * second, and so on, as far as `within` ms, and no more than `most`. A container that starts serves one of
 * them.
 */
export function servedIn(
  containers: Iterable<Container>,
  estimates: EstimateTable,
  now: number,
  { within, most }: { within: number; most: number },
): number[] {
  const slots: Slot[] = [];
  for (const one of containers) {
    if (!one.box.takes) continue;
    const run = estimates.run(one.key).mean;
    if (one.phase === "starting") {
      const ready = remainingMs(one.since, estimates.setup(one.key).mean, now);
      // Room of a container on a full box is of no use.
      const takesNow = canTake(one) && one.box.freeSlots > 0;
      slots.push({ wait: takesNow ? ready : ready + run, run: undefined });
    } else for (const began of one.runs) slots.push({ wait: remainingMs(began, run, now), run });
  }
  const next = slots
    .filter(({ wait }) => wait <= within)
    .sort((a, b) => a.wait - b.wait)
    .slice(0, most);
  const served: number[] = [];
  while (served.length < most) {
    const slot = next.shift();
    if (!slot || slot.wait > within) break;
    served.push(slot.wait);
    if (slot.run !== undefined) putInOrder(next, { ...slot, wait: slot.wait + slot.run });
  }
  return served;
}

/** A place where a waiting job is served, and how long its run takes, after which the next one is served. */
interface Slot {
  wait: number;
  run: number | undefined;
}

function putInOrder(slots: Slot[], slot: Slot): void {
  const at = slots.findIndex(({ wait }) => wait > slot.wait);
  slots.splice(at < 0 ? slots.length : at, 0, slot);
}

export const remainingMs = (since: number, mean: number, now: number): number =>
  Math.max(since + mean - now, mean * OVERDUE);
