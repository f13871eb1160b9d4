/**
 * Decides which job is handed to which box next. It only reads; `PoolState.apply` makes it so. The rules, in
 * their order: the containers that claims lack; a job that was overtaken too often; a container that is up, in fair order; then for each
 * waiting job, unless a container will serve it sooner than one of its own would be ready: room on a box that
 * has the image, any room, room that is made by stopping idle containers.
 */
import type { Box } from "./box.ts";
import { ClassLook, LOOK_AHEAD } from "./class-look.ts";
import { declinedUntil } from "./declined.ts";
import { foresee } from "./foresee.ts";
import { type Job, levelOf } from "./line.ts";
import { StartBoxes } from "./placement.ts";
import type { PoolState } from "./pool-state.ts";
import { endsInTime, hasLapsed, reservationFor, reserve } from "./reservations.ts";
import { type Decision, type Handout, LEVELS, type Notes, type Reservation } from "./types.ts";
import { servedIn, warmWaitMs } from "./warm-wait.ts";

/** A job that was overtaken this many times is served next where it can run. */
export const MAX_OVERTAKEN = 20;

export function decide(state: PoolState, now: number): Decision {
  return new Deciding(state, now).decide();
}

type Choice =
  | { do: "join"; job: string; box: string; container: string }
  | { do: "start"; job: string; box: string; stop: string[] };

class Deciding {
  readonly #state: PoolState;
  readonly #now: number;
  readonly #looks: ClassLook[];
  readonly #notes: Notes = { firsts: [], warmWaits: [], reservations: [] };
  readonly #reserved = new Map<string, Reservation>();
  readonly #startBoxes = new Map<string, StartBoxes>();
  #until = Number.POSITIVE_INFINITY;

  constructor(state: PoolState, now: number) {
    this.#state = state;
    this.#now = now;
    this.#looks = [...state.line.classes].map(
      ([hardware, line]) => new ClassLook(state, hardware, line, now),
    );
    for (const look of this.#looks) {
      const reservation = this.#reservationOf(look);
      if (reservation) this.#reserved.set(reservation.box, reservation);
    }
  }

  decide(): Decision {
    const choice =
      this.#warmUp() ??
      this.#best((look) => this.#serveOverdue(look)) ??
      this.#best((look) => this.#join(look)) ??
      this.#best((look) => this.#start(look));
    for (const { firsts } of this.#looks)
      for (const { ask, first_since } of firsts)
        if (first_since === undefined) this.#notes.firsts.push(ask.id);
    if (choice) return { ...choice, notes: this.#notes };
    for (const { until } of this.#looks) this.#lookAgain(until);
    const until = Number.isFinite(this.#until) ? this.#until : null;
    return { do: "nothing", until, notes: this.#notes };
  }

  /** Returns the best choice: of the highest priority, and of the class that had no turn for longest. */
  #best(rule: (look: ClassLook) => Choice | undefined): Choice | undefined {
    let best: { choice: Choice; level: number } | undefined;
    for (const look of this.#looks) {
      const choice = rule(look);
      const job = choice && this.#state.line.get(choice.job);
      if (!job) continue;
      const level = LEVELS.indexOf(levelOf(job.ask, this.#now));
      if (!best || level < best.level) best = { choice, level };
    }
    return best?.choice;
  }

  /** Starts the containers that claims lack. They stay, so that others gain nothing by going first. */
  #warmUp(): Choice | undefined {
    for (const job of this.#state.line.warmUps) {
      const look = this.#looks.find(({ hardware }) => hardware === job.ask.hardware);
      const choice = this.#joinFor(job) ?? (look && this.#startFor(job, look));
      if (choice) return choice;
      if (this.#state.fleet.lacking(job.queueKey) === 0) continue;
      // Containers that are never idle make room only for a reservation.
      const reservesAt = job.ask.at + this.#state.settings.reserve_ms;
      if (reservesAt <= this.#now) this.#reserve(job);
      else this.#lookAgain(reservesAt);
    }
    return undefined;
  }

  #serveOverdue(look: ClassLook): Choice | undefined {
    for (const job of look.firsts) {
      if (job.overtaken < MAX_OVERTAKEN || job.ask.warm_up) continue;
      const choice = this.#joinFor(job) ?? this.#startFor(job, look);
      if (choice) return choice;
      this.#reserve(job);
    }
    return undefined;
  }

  #join(look: ClassLook): Choice | undefined {
    if (this.#state.fleet.isFull) return undefined;
    for (const job of look.candidates) {
      const choice = this.#joinFor(job);
      if (choice) return choice;
    }
    return look.candidates.length < LOOK_AHEAD ? undefined : this.#joinBehind(look);
  }

  /** Behind the jobs that are looked at, a job may wait for a container that is idle. */
  #joinBehind({ hardware, turnOf }: ClassLook): Choice | undefined {
    const { fleet, line } = this.#state;
    for (const [queueKey, jobs] of line.queues) {
      if (!fleet.isOpen(queueKey)) continue;
      const [first] = jobs;
      if (first?.ask.hardware !== hardware) continue;
      let looked = 0;
      for (const job of jobs) {
        looked += 1;
        if (looked > LOOK_AHEAD) break;
        const choice = turnOf(job.ask.account) !== "out" && this.#joinFor(job);
        if (choice) return choice;
      }
    }
    return undefined;
  }

  #joinFor(job: Job): Choice | undefined {
    const { fleet } = this.#state;
    if (!fleet.isOpen(job.queueKey)) return undefined;
    if (job.ask.warm_up && fleet.lacking(job.queueKey) > 0) return undefined;
    const container = fleet.joinable(job.queueKey, (box) => this.#isAllowed(job, box, false));
    if (!container) return undefined;
    return { do: "join", job: job.ask.id, box: container.box.id, container: container.id };
  }

  #start(look: ClassLook): Choice | undefined {
    const { estimates, fleet, settings } = this.#state;
    const boxes = this.#startBoxesOf(look);
    const served = new Map<string, number[]>();
    for (const job of look.candidates) {
      if (job.ask.warm_up) continue;
      if (!boxes.none) {
        const { queueKey } = job;
        const setup = estimates.setup(job.ask.key).mean;
        const patience = boxes.hasFreeBox ? setup : setup * (1 + fleet.usedShare);
        let times = served.get(queueKey);
        if (!times) {
          const waiting = this.#state.line.queues.get(queueKey)?.size ?? 0;
          const most = Math.min(waiting, LOOK_AHEAD);
          times = servedIn(fleet.containersOf(queueKey), estimates, this.#now, {
            within: patience,
            most,
          });
          served.set(queueKey, times);
        }
        const wait = times.shift();
        if (wait !== undefined && this.#waitForWarm(job, wait)) continue;
        const choice = this.#startFor(job, look);
        if (choice) return choice;
      }
      if (job.ask.gpus < 2) {
        if (boxes.none) return undefined;
        continue;
      }
      if (!look.firsts.includes(job)) continue;
      const since = job.first_since ?? this.#now;
      if (this.#now - since >= settings.reserve_ms) this.#reserve(job);
      else this.#lookAgain(since + settings.reserve_ms);
    }
    return undefined;
  }

  #startFor(job: Job, look: ClassLook): Choice | undefined {
    const boxes = this.#startBoxesOf(look);
    const { fleet } = this.#state;
    if (boxes.none || !fleet.mayGrow(job.queueKey)) return undefined;
    if (job.ask.warm_up && fleet.lacking(job.queueKey) === 0) return undefined;
    const isAllowed = (box: Box) => this.#isAllowed(job, box, true);
    const free = boxes.boxFor(job, isAllowed);
    if (free) return { do: "start", job: job.ask.id, box: free.id, stop: [] };
    const eviction = boxes.evictionFor(job, isAllowed, this.#state, this.#now);
    if (!eviction) return undefined;
    return {
      do: "start",
      job: job.ask.id,
      box: eviction.box.id,
      stop: eviction.stop.map(({ id }) => id),
    };
  }

  #startBoxesOf({ hardware, line }: ClassLook): StartBoxes {
    let boxes = this.#startBoxes.get(hardware);
    if (!boxes) {
      boxes = new StartBoxes(this.#state, hardware, line.gpus);
      this.#startBoxes.set(hardware, boxes);
    }
    return boxes;
  }

  #isAllowed(job: Job, box: Box, starts: boolean): boolean {
    const { ask } = job;
    const until = declinedUntil(job, box);
    if (until > this.#now) {
      this.#lookAgain(until);
      return false;
    }
    const reservation = this.#reserved.get(box.id);
    if (!reservation || reservation.job === ask.id) return true;
    // The container of a claim stays.
    if (ask.warm_up) return false;
    return endsInTime(this.#state, reservation, ask, starts, this.#now);
  }

  /** Returns the reservation of a class, unless its job has its share, or was declined by the box. */
  #reservationOf({ hardware, turnOf }: ClassLook): Reservation | undefined {
    const reservation = reservationFor(this.#state, hardware);
    const job = reservation && this.#state.line.get(reservation.job);
    const box = reservation && this.#state.fleet.boxes.get(reservation.box);
    if (!job || !box || hasLapsed(reservation, this.#now)) return undefined;
    if (!this.#state.fleet.mayGrow(job.queueKey)) return undefined;
    if (declinedUntil(job, box) > this.#now) return undefined;
    return turnOf(job.ask.account) === "out" ? undefined : reservation;
  }

  /** @returns false if the job has been held for long enough */
  #waitForWarm({ ask, waits_warm_until }: Job, wait: number): boolean {
    const until = waits_warm_until ?? this.#now + warmWaitMs(wait);
    if (until <= this.#now) return false;
    if (waits_warm_until === undefined) this.#notes.warmWaits.push({ job: ask.id, until });
    this.#lookAgain(until);
    return true;
  }

  #reserve(job: Job): void {
    if (!this.#state.fleet.mayGrow(job.queueKey)) return;
    const kept = reservationFor(this.#state, job.ask.hardware);
    if (kept && !hasLapsed(kept, this.#now)) return;
    const made = reserve(this.#state, job, this.#reserved, this.#now);
    if (!made) return;
    this.#notes.reservations.push(made);
    this.#reserved.set(made.box, made);
  }

  #lookAgain(at: number): void {
    this.#until = Math.min(this.#until, at);
  }
}

/** The shortest time between two forecasts: each takes milliseconds among thousands of containers. */
const LEARN_EVERY_MS = 1_000;

export interface HandedOut {
  handouts: Handout[];
  /** When to look again, if nothing changes until then; null: only after a change. */
  until: number | null;
}

/** @param rule makes decisions; the simulation tries other rules */
export function handOut(
  state: PoolState,
  now: number,
  rule: (state: PoolState, now: number) => Decision = decide,
): HandedOut {
  const handouts: Handout[] = [];
  for (;;) {
    const decision = rule(state, now);
    const handout = state.apply(decision, now);
    if (handout) handouts.push(handout);
    if (decision.do !== "nothing") continue;
    learn(state, now);
    return { handouts, until: decision.until };
  }
}

/** Makes a forecast for the job that came last, if it has to wait. */
function learn(state: PoolState, now: number): void {
  const job = state.line.get(state.newest ?? "");
  const line = job && state.line.classes.get(job.ask.hardware);
  if (!line || now < state.forecasts.lastAt + LEARN_EVERY_MS) return;
  const look = new ClassLook(state, job.ask.hardware, line, now);
  state.forecasts.add(foresee(state, look, job, now), now);
  state.newest = undefined;
}
