/** Why a job waits, and for how long. Names in it are the pool's own: other code decides who may see them. */
import type { Box } from "./box.ts";
import { ClassLook } from "./class-look.ts";
import { hasDeclined } from "./declined.ts";
import type { Range } from "./forecasts.ts";
import { foresee } from "./foresee.ts";
import type { Job } from "./line.ts";
import type { PoolState } from "./pool-state.ts";
import { reservationFor } from "./reservations.ts";
import { remainingMs } from "./warm-wait.ts";

export type Reason =
  /** No box that takes jobs serves the job's class. */
  | { why: "no-box"; hardware: string }
  /** No box has as many GPUs beside claims as the class needs; `most` is the number of the largest box. */
  | { why: "too-small"; gpus: number; most: number }
  /** A container for the job starts; keys of those that were stopped to make room. */
  | { why: "starting"; box: string; stopped: string[] }
  /** The job is kept for a container of its key that starts, or that is busy. */
  | { why: "held"; box: string; container: string; phase: "starting" | "ready"; until: number }
  | { why: "reserved"; box: string; free_at: number; free_by: number }
  /** The account has as much as it may while others want the class. */
  | { why: "share"; held: number; most: number }
  /** All boxes that could take the job have declined it as they are. */
  | { why: "declined"; boxes: string[] }
  | {
      why: "busy";
      /** GPUs that one container of the class takes. */
      gpus: number;
      /** Position in the fair order, from 1. */
      position: number;
      /** How many other accounts have jobs before this one. */
      accounts: number;
      reserved: string[];
    };

export type Obstacle = Exclude<Reason, { why: "busy" } | { why: "starting" }>;

export interface Explanation {
  reason: Reason;
  /** How long the job will still wait until its run begins. */
  range: Range | "unknown";
}

/** @returns undefined if the job neither waits nor is on its way to a container that starts */
export function explain(state: PoolState, jobId: string, now: number): Explanation | undefined {
  const job = state.line.get(jobId);
  if (!job) return explainStart(state, jobId, now);
  const line = state.line.classes.get(job.ask.hardware);
  if (!line) return undefined;
  const look = new ClassLook(state, job.ask.hardware, line, now);
  const reason = reasonOf(state, look, job);
  if (reason.why === "no-box" || reason.why === "too-small" || reason.why === "declined")
    return { reason, range: "unknown" };
  const { kind, expected_ms } = foresee(state, look, job, now);
  return { reason, range: state.forecasts.range(kind, expected_ms) ?? "unknown" };
}

function explainStart(state: PoolState, jobId: string, now: number): Explanation | undefined {
  const handed = state.handoutOf(jobId);
  if (!handed || handed.began) return undefined;
  const { ask, at, box, starts, stopped } = handed;
  const reason: Reason = { why: "starting", box, stopped: [...stopped] };
  const range = state.forecasts.range("start", state.estimates.setup(ask.key).mean);
  // A job that joined a starting container begins sooner: the time of that start is not known here.
  return { reason, range: range && starts ? later(range, now - at) : "unknown" };
}

const later = ({ p10_ms, p50_ms, p90_ms }: Range, elapsed: number): Range => ({
  p10_ms: Math.max(0, p10_ms - elapsed),
  p50_ms: Math.max(0, p50_ms - elapsed),
  p90_ms: Math.max(0, p90_ms - elapsed),
});

/** The boxes that take jobs of a class, and those of them that are large enough. */
interface ClassBoxes {
  all: Box[];
  fit: Box[];
}

export function boxesOf({ fleet }: PoolState, { hardware, line }: ClassLook): ClassBoxes {
  const all = [...fleet.boxes.values()].filter((box) => box.takes && box.serves(hardware));
  return { all, fit: all.filter((box) => box.capacity(line.gpus) > 0) };
}

const reasonOf = (state: PoolState, look: ClassLook, job: Job): Reason =>
  obstacleTo(state, look, job, boxesOf(state, look)) ?? busy(state, look, job);

/** Returns the reason that a job waits for, other than its turn. */
export function obstacleTo(
  state: PoolState,
  look: ClassLook,
  job: Job,
  { all, fit }: ClassBoxes,
): Obstacle | undefined {
  const { ask, waits_warm_until } = job;
  const { hardware } = look;
  if (all.length === 0) return { why: "no-box", hardware };
  if (fit.length === 0)
    return {
      why: "too-small",
      gpus: ask.gpus,
      most: Math.max(...all.map(({ gpus, claimedGpus }) => gpus - claimedGpus)),
    };
  if (fit.every((box) => hasDeclined(job, box)))
    return { why: "declined", boxes: fit.map(({ id }) => id) };
  if (look.turnOf(ask.account) === "out")
    return {
      why: "share",
      held: state.shares.held(hardware, ask.account),
      most: look.mostFor(ask.account),
    };
  const reservation = reservationFor(state, hardware);
  if (reservation?.job === ask.id) {
    const { box, free_at, free_by } = reservation;
    return { why: "reserved", box, free_at, free_by };
  }
  if (waits_warm_until === undefined || waits_warm_until <= look.now) return undefined;
  const container = soonest(state, job, look.now);
  if (!container) return undefined;
  const { id, box, phase } = container;
  return { why: "held", box: box.id, container: id, phase, until: waits_warm_until };
}

function busy(state: PoolState, look: ClassLook, job: Job): Reason {
  let position = 1;
  const accounts = new Set<string>();
  for (const one of look.line.order(look.now, look.turnOf)) {
    if (one === job) break;
    position += 1;
    accounts.add(one.ask.account);
  }
  accounts.delete(job.ask.account);
  const reserved = keptFor(state, look.hardware);
  return { why: "busy", gpus: job.ask.gpus, position, accounts: accounts.size, reserved };
}

/** Boxes that a class could use, and that are kept for single jobs. */
export function keptFor(state: PoolState, hardware: string): string[] {
  return [...state.reservations.keys()].flatMap((reserved) => {
    const box = reservationFor(state, reserved)?.box;
    return box !== undefined && serves(state.fleet.boxes.get(box), hardware) ? [box] : [];
  });
}

const serves = (box: Box | undefined, hardware: string): boolean => box?.serves(hardware) ?? false;

/** The container of the job's key that will be free first. */
function soonest({ fleet, estimates }: PoolState, { queueKey }: Job, now: number) {
  const due = [...fleet.containersOf(queueKey)].flatMap((one) => {
    const { box, key, phase, since, runs } = one;
    if (!box.takes || phase === "stopping") return [];
    const began = phase === "starting" ? since : Math.min(...runs);
    const mean = estimates[phase === "starting" ? "setup" : "run"](key).mean;
    return [{ id: one.id, box, phase, in_ms: remainingMs(began, mean, now) }];
  });
  return due.toSorted((a, b) => a.in_ms - b.in_ms)[0];
}
