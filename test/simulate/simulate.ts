/** Boxes and jobs under a virtual clock, with one set of rules that hands out. */
import type { HandedOut } from "../../src/domain/scheduling/decide/decide.ts";
import type { PoolState } from "../../src/domain/scheduling/decide/pool-state.ts";
import { type Happening, SimBox } from "./sim-box.ts";
import type { SimulatedJob } from "./trace.ts";

const BOXES = 4;
const GPUS_PER_BOX = 3;

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

/** @param seen is called when a job has come whose run has not begun at once */
export function simulate(
  trace: readonly SimulatedJob[],
  rules: Rules,
  seen?: (job: SimulatedJob, now: number) => void,
): Course {
  const { state } = rules;
  const boxes = new Map(
    Array.from({ length: BOXES }, (_, n) => [`box-${n}`, new SimBox(`box-${n}`, GPUS_PER_BOX)]),
  );
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

  for (const box of boxes.values()) {
    state.report(box.view(), now);
    state.setTakes(box.id, true);
  }
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
    handOut();
    if (arrival && arrival.ask.at <= now && course.fates.at(-1)?.job !== arrival)
      seen?.(arrival, now);
  }
  return course;
}
