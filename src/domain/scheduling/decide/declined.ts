/** Jobs that boxes had no place for. */
import type { Box } from "./box.ts";
import type { Job } from "./line.ts";

/**
 * How soon a box is asked again that has changed since it declined: at once, then after a second, which
 * doubles. A box may change several times a second, and each time an attempt is opened for it.
 */
const PAUSE_MS = { first: 1_000, max: 60_000 };

/** Records that a box declined a job. To be called when the rest of the box's report has been taken. */
export function recordDeclined({ declined }: Job, { id, state }: Box, now: number): void {
  const times = (declined.get(id)?.times ?? 0) + 1;
  const pause = times === 1 ? 0 : Math.min(PAUSE_MS.first * 2 ** (times - 2), PAUSE_MS.max);
  declined.set(id, { state, times, until: now + pause });
}

/** How long a box whose machine failed to start a job is not asked again: others come first. */
const FAILED_PAUSE_MS = { first: 10_000, max: 600_000 };

export function recordFailedStart(job: Job, boxId: string, times: number, now: number): void {
  const pause = Math.min(FAILED_PAUSE_MS.first * 2 ** (times - 1), FAILED_PAUSE_MS.max);
  job.declined.set(boxId, { state: NO_STATE, times, until: now + pause });
}

/** A state that no box has: boxes count theirs from 0. */
const NO_STATE = -1;

export const hasDeclined = (job: Job, box: Box): boolean =>
  declinedUntil(job, box) === Number.POSITIVE_INFINITY;

/** When the box may be asked again, as it is: infinite before it changes; 0: it may be asked. */
export function declinedUntil({ declined }: Job, { id, state }: Box): number {
  const found = declined.size > 0 ? declined.get(id) : undefined;
  if (!found) return 0;
  return found.state === state ? Number.POSITIVE_INFINITY : found.until;
}
