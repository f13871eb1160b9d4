/**
 * Foresees when the run of a waiting job begins: as if the jobs before it in the fair order took containers
 * one after the other, each one of its own key unless a start elsewhere is sooner.
 */
import type { ClassLook } from "./class-look.ts";
import type { EstimateTable } from "./estimates.ts";
import type { Job } from "./line.ts";
import type { PoolState } from "./pool-state.ts";
import { reservationFor } from "./reservations.ts";
import type { Forecast } from "./types.ts";
import { remainingMs } from "./warm-wait.ts";

interface Slot {
  /** When the place is free, in ms from now. */
  in_ms: number;
  /** The queue key of the container that is there. */
  queueKey: string | undefined;
  max_concurrency: number;
  /** Whether a claim holds the container that is there: no other takes its place. */
  claimed: boolean;
}

export function foresee(state: PoolState, look: ClassLook, job: Job, now: number): Forecast {
  const { estimates, fleet } = state;
  const { id, key } = job.ask;
  const reservation = reservationFor(state, look.hardware);
  if (reservation?.job === id) {
    const wait = Math.max(0, reservation.free_at - now);
    return { job: id, kind: "slot", expected_ms: wait + estimates.setup(key).mean };
  }
  const slots = slotsOf(state, look, now);
  // Jobs that find their own container are served before those that need another, wherever they stand.
  const waiting = look.candidates.includes(job) ? look.candidates : [...look.candidates, job];
  const others: Job[] = [];
  for (const one of waiting) {
    const setup = estimates.setup(one.ask.key).mean;
    const own = soonest(slots, one.queueKey);
    if (own && own.in_ms <= setup * (1 + fleet.usedShare)) {
      if (one === job) return { job: id, kind: "container", expected_ms: own.in_ms };
      occupy(own, one, own.in_ms, estimates);
    } else others.push(one);
  }
  for (const one of others) {
    const setup = estimates.setup(one.ask.key).mean;
    const own = soonest(slots, one.queueKey);
    const any = soonest(slots);
    const isOwn = own && (!any || own.in_ms <= any.in_ms + setup);
    const slot = isOwn ? own : any;
    const begins = (slot?.in_ms ?? 0) + (isOwn ? 0 : setup);
    if (one === job) return { job: id, kind: isOwn ? "container" : "slot", expected_ms: begins };
    if (slot) occupy(slot, one, begins, estimates);
  }
  return { job: id, kind: "slot", expected_ms: 0 };
}

function soonest(slots: readonly Slot[], queueKey?: string): Slot | undefined {
  let best: Slot | undefined;
  for (const slot of slots) {
    if (queueKey === undefined ? slot.claimed : slot.queueKey !== queueKey) continue;
    if (!best || slot.in_ms < best.in_ms) best = slot;
  }
  return best;
}

function occupy(slot: Slot, { ask, queueKey }: Job, from: number, estimates: EstimateTable): void {
  slot.queueKey = queueKey;
  slot.max_concurrency = ask.max_concurrency;
  slot.in_ms = from + estimates.run(ask.key).mean / slot.max_concurrency;
}

function slotsOf({ fleet, estimates }: PoolState, look: ClassLook, now: number): Slot[] {
  const slots: Slot[] = [];
  for (const box of fleet.boxes.values()) {
    if (!box.takes || !box.serves(look.hardware)) continue;
    for (const one of box.containers.values()) {
      const { queueKey, max_concurrency, phase } = one;
      if (phase === "stopping") continue;
      const run = estimates.run(one.key).mean;
      const [first] = one.runs.toSorted((a, b) => a - b);
      const ready =
        phase === "starting" ? remainingMs(one.since, estimates.setup(one.key).mean, now) : 0;
      const ends = first === undefined ? run : remainingMs(first, run, now);
      slots.push({
        in_ms: ready + (one.users < max_concurrency ? 0 : ends),
        queueKey,
        max_concurrency,
        claimed: one.claimed,
      });
    }
    for (let n = box.startable(look.line.gpus); n > 0; n -= 1)
      slots.push({ in_ms: 0, queueKey: undefined, max_concurrency: 1, claimed: false });
  }
  return slots;
}
