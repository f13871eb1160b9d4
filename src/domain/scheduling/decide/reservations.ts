/**
 * A box that is kept for a job that would never find room otherwise: one that needs several GPUs, which
 * never become free at the same time, or one that was overtaken too often.
 */
import { type Box, isIdle } from "./box.ts";
import { declinedUntil, hasDeclined } from "./declined.ts";
import type { Job } from "./line.ts";
import type { PoolState } from "./pool-state.ts";
import type { Ask, Reservation } from "./types.ts";

/** Standard deviations above the mean: about nine in ten runs end by then. */
const CAUTION = 1.3;

/** A box may report this much later than it is due that it has room: containers take time to stop. */
const LAPSE_MS = 60_000;

export function reservationFor(state: PoolState, hardware: string): Reservation | undefined {
  const found = state.reservations.get(hardware);
  const job = found && state.line.get(found.job);
  const box = found && state.fleet.boxes.get(found.box);
  if (!job || !box?.takes || !box.serves(hardware)) return undefined;
  return hasDeclined(job, box) ? undefined : found;
}

/** Whether the box should have had room long ago, and has none: another one may be better. */
export const hasLapsed = ({ free_at, free_by }: Reservation, now: number): boolean =>
  now > Math.max(free_at, free_by) + LAPSE_MS;

/** Reserves the box that is free soonest and not `reserved`; one that was kept in vain comes last. */
export function reserve(
  state: PoolState,
  job: Job,
  reserved: ReadonlyMap<string, Reservation>,
  now: number,
): Reservation | undefined {
  const { ask } = job;
  const last = state.reservations.get(ask.hardware);
  const inVain = last?.job === ask.id && hasLapsed(last, now) ? last.box : undefined;
  let best: Reservation | undefined;
  for (const box of state.fleet.boxes.values()) {
    if (!box.takes || !box.serves(ask.hardware) || box.capacity(ask.gpus) === 0) continue;
    if (reserved.has(box.id) || declinedUntil(job, box) > now) continue;
    const free_at = freeAt(state, box, ask, now);
    const isBetter = !best || best.box === inVain || (box.id !== inVain && free_at < best.free_at);
    if (!isBetter) continue;
    const free_by = limitOf(state, box, now);
    best = { job: ask.id, hardware: ask.hardware, box: box.id, free_at, free_by };
  }
  return best;
}

/** Whether a job may be placed on a box that is kept for another: the job will have ended by then. */
export function endsInTime(
  { estimates }: PoolState,
  { free_at, free_by }: Reservation,
  ask: Ask,
  starts: boolean,
  now: number,
): boolean {
  const setup = starts ? late(estimates.setup(ask.key)) : 0;
  const expected = now + setup + late(estimates.run(ask.key));
  return expected <= free_at && now + setup + ask.run_limit_ms <= free_by;
}

const late = ({ mean, variance }: { mean: number; variance: number }): number =>
  mean + CAUTION * Math.sqrt(variance);

/** When enough of the box's containers are expected to be idle for the job. */
function freeAt({ estimates }: PoolState, box: Box, { gpus }: Ask, now: number): number {
  let free = box.freeGpus;
  const ends: { at: number; gpus: number }[] = [];
  for (const one of box.containers.values()) {
    const setup = one.phase === "starting" ? one.since + estimates.setup(one.key).mean : now;
    const run = estimates.run(one.key).mean;
    if (one.claimed) continue;
    if (isIdle(one)) free += one.gpus;
    else if (one.phase === "stopping") ends.push({ at: now, gpus: one.gpus });
    else {
      const begins = one.runs.length > 0 ? Math.max(...one.runs) : setup;
      ends.push({ at: Math.max(now, begins + run), gpus: one.gpus });
    }
  }
  let at = now;
  for (const end of ends.toSorted((a, b) => a.at - b.at)) {
    if (free >= gpus) break;
    free += end.gpus;
    at = end.at;
  }
  return at;
}

/** When the last of the box's runs must have ended. */
function limitOf({ estimates }: PoolState, box: Box, now: number): number {
  let last = now;
  for (const { at, ask, starts } of box.handouts.values()) {
    const setup = starts ? late(estimates.setup(ask.key)) : 0;
    last = Math.max(last, at + setup + ask.run_limit_ms);
  }
  return last;
}
