/**
 * Foresees when the run of a waiting job begins: as if the jobs before it in the fair order took containers
 * one after the other, each one of its own key unless a start elsewhere is sooner.
 */
import type { Box } from "./box.ts";
import type { ClassLook } from "./class-look.ts";
import type { EstimateTable } from "./estimates.ts";
import type { Job } from "./line.ts";
import type { PoolState } from "./pool-state.ts";
import { reservationFor } from "./reservations.ts";
import type { Forecast } from "./types.ts";
import { remainingMs } from "./warm-wait.ts";

interface Place {
  /** When the place is free, in ms from now. */
  in_ms: number;
  /** The queue key of the container that is there. */
  queueKey: string | undefined;
  room: number;
}

export function foresee(state: PoolState, look: ClassLook, job: Job, now: number): Forecast {
  const { estimates, fleet } = state;
  const { id, key } = job.ask;
  const reservation = reservationFor(state, look.hardware);
  if (reservation?.job === id) {
    const wait = Math.max(0, reservation.free_at - now);
    return { job: id, kind: "place", expected_ms: wait + estimates.setup(key).mean };
  }
  const places = placesOf(state, look, now);
  // Jobs that find their own container are served before those that need another, wherever they stand.
  const waiting = look.candidates.includes(job) ? look.candidates : [...look.candidates, job];
  const others: Job[] = [];
  for (const one of waiting) {
    const setup = estimates.setup(one.ask.key).mean;
    const own = soonest(places, one.queueKey);
    if (own && own.in_ms <= setup * (1 + fleet.usedShare)) {
      if (one === job) return { job: id, kind: "container", expected_ms: own.in_ms };
      occupy(own, one, own.in_ms, estimates);
    } else others.push(one);
  }
  for (const one of others) {
    const setup = estimates.setup(one.ask.key).mean;
    const own = soonest(places, one.queueKey);
    const any = soonest(places);
    const isOwn = own && (!any || own.in_ms <= any.in_ms + setup);
    const place = isOwn ? own : any;
    const begins = (place?.in_ms ?? 0) + (isOwn ? 0 : setup);
    if (one === job) return { job: id, kind: isOwn ? "container" : "place", expected_ms: begins };
    if (place) occupy(place, one, begins, estimates);
  }
  return { job: id, kind: "place", expected_ms: 0 };
}

function soonest(places: readonly Place[], queueKey?: string): Place | undefined {
  let best: Place | undefined;
  for (const place of places) {
    if (queueKey !== undefined && place.queueKey !== queueKey) continue;
    if (!best || place.in_ms < best.in_ms) best = place;
  }
  return best;
}

function occupy(
  place: Place,
  { ask, queueKey }: Job,
  from: number,
  estimates: EstimateTable,
): void {
  place.queueKey = queueKey;
  place.room = ask.room;
  place.in_ms = from + estimates.run(ask.key).mean / place.room;
}

function placesOf({ fleet, estimates }: PoolState, look: ClassLook, now: number): Place[] {
  const places: Place[] = [];
  for (const box of fleet.boxes.values()) {
    if (!box.takes || !box.serves(look.hardware)) continue;
    for (const one of box.containers.values()) {
      const { queueKey, room, phase } = one;
      if (phase === "stopping") continue;
      const run = estimates.run(one.key).mean;
      const [first] = one.runs.toSorted((a, b) => a - b);
      const ready =
        phase === "starting" ? remainingMs(one.since, estimates.setup(one.key).mean, now) : 0;
      const ends = first === undefined ? run : remainingMs(first, run, now);
      places.push({ in_ms: ready + (one.users < room ? 0 : ends), queueKey, room });
    }
    for (let n = roomOn(box, look.line.gpus); n > 0; n -= 1)
      places.push({ in_ms: 0, queueKey: undefined, room: 1 });
  }
  return places;
}

function roomOn({ freeContainers, freeSlots, freeGpus }: Box, gpus: number): number {
  const fit = gpus > 0 ? Math.floor(freeGpus / gpus) : freeContainers;
  return Math.min(fit, freeContainers, freeSlots);
}
