/** Boxes and jobs under a virtual clock, with one set of rules that hands out. */
import type { HandedOut } from "../../src/domain/scheduling/decide/decide.ts";
import type { PoolState } from "../../src/domain/scheduling/decide/pool-state.ts";
import type { Claim } from "../../src/domain/scheduling/decide/types.ts";
import { type Happening, SimBox } from "./sim-box.ts";
import type { SimulatedJob } from "./trace.ts";

/** The GPUs of each box. */
const BOXES = [3, 3, 3, 3];

export interface Rules {
  state: PoolState;
  handOut(now: number): HandedOut;
}

/** The outcome of a job. */
export interface Fate {
  job: SimulatedJob;
  /** The time from the job's ask to the start of its run. */
  wait_ms: number;
  /** True if the job needed a new container. */
  cold: boolean;
}

export interface Course {
  fates: Fate[];
  /** The number of waiting jobs whenever a job came. */
  waiting: number[];
}

interface Scenery {
  /** Called when a job has come whose run has not begun at once. */
  seen?: (job: SimulatedJob, now: number) => void;
  gpus?: readonly number[];
  /** Warm-ups for these claims are asked for at the start, and whenever a claim lacks a container. */
  claims?: readonly Claim[];
}

export function simulate(
  trace: readonly SimulatedJob[],
  rules: Rules,
  { seen, gpus = BOXES, claims = [] }: Scenery = {},
): Course {
  const { state } = rules;
  const boxes = new Map(gpus.map((count, n) => [`box-${n}`, new SimBox(`box-${n}`, count)]));
  const jobs = new Map(trace.map((job) => [job.ask.id, job]));
  const cold = new Set<string>();
  const course: Course = { fates: [], waiting: [] };
  let now = 0;
  let until: number | null = null;

  const tell = (box: SimBox, happenings: readonly Happening[]) => {
    for (const one of happenings) {
      if (one.what === "ready") state.measured(one.key, { setup_ms: one.setup_ms });
      else if (one.what === "ended") state.measured(one.key, { run_ms: one.run_ms });
      else {
        const { ask } = one.job;
        if (ask.warm_up) continue;
        course.fates.push({ job: one.job, wait_ms: now - ask.at, cold: cold.has(ask.id) });
      }
    }
    state.report(box.view(), now);
  };
  const handOut = () => {
    const result = rules.handOut(now);
    until = result.until;
    for (const handout of result.handouts) {
      const job = jobs.get(handout.ask.id);
      const box = boxes.get(handout.box);
      if (!job || !box) throw new Error("a hand-out of nothing");
      if (handout.starts) cold.add(job.ask.id);
      tell(box, box.take(handout, job));
    }
  };

  const warmUp = () => {
    for (const { key, hardware, min } of claims) {
      const isWaiting = [...state.line.warmUps].some(({ ask }) => ask.key === key);
      const like = trace.find(({ ask }) => ask.key === key);
      if (!like || isWaiting || state.fleet.lacking(`${hardware} ${key}`) === 0) continue;
      if (min > 1) throw new Error("a claim of the simulation holds one container");
      const id = `warm-up of ${key} at ${now}`;
      const job = { ...like, run_ms: 0, ask: { ...like.ask, id, at: now, warm_up: true } };
      jobs.set(id, job);
      state.ask(job.ask);
    }
  };

  for (const box of boxes.values()) {
    state.report(box.view(), now);
    state.setTakes(box.id, true);
  }
  state.fleet.setClaims(claims);
  for (let next = 0; course.fates.length < trace.length; ) {
    const due = Math.min(...[...boxes.values()].map((box) => box.due));
    const arrival = trace[next];
    now = Math.min(due, arrival?.ask.at ?? due, until ?? due);
    if (!Number.isFinite(now)) throw new Error(`${state.waiting} jobs wait for ever`);
    for (const box of boxes.values()) if (box.due <= now) tell(box, box.advance(now));
    if (arrival && arrival.ask.at <= now) {
      next += 1;
      course.waiting.push(state.waiting);
      state.ask(arrival.ask);
    }
    warmUp();
    handOut();
    if (arrival && arrival.ask.at <= now && course.fates.at(-1)?.job !== arrival)
      seen?.(arrival, now);
  }
  return course;
}
