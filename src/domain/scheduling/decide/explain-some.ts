/** Why the jobs of one model wait, whatever their classes and accounts. */
import type { Job } from "./class-line.ts";
import { ClassLook } from "./class-look.ts";
import { boxesOf, obstacleTo } from "./explain.ts";
import type { ClassReason } from "./explain-class.ts";
import type { PoolState } from "./pool-state.ts";

export interface SomeReason {
  hardware: string;
  /** GPUs that a container of the class takes. */
  gpus: number;
  why: ClassReason["why"];
  jobs: number;
  /** Since when the first of the jobs waits. */
  since: number;
}

/** @returns the reasons with most jobs first */
export function explainSome(state: PoolState, ids: Iterable<string>, now: number): SomeReason[] {
  const reasons = new Map<string, SomeReason>();
  const looks = new Map<string, (job: Job) => ClassReason["why"]>();
  for (const id of ids) {
    const job = state.line.get(id);
    const line = job && state.line.classes.get(job.ask.hardware);
    if (!line) continue;
    const { hardware, gpus, at } = job.ask;
    const whyOf =
      looks.get(hardware) ?? reasonsIn(state, new ClassLook(state, hardware, line, now));
    looks.set(hardware, whyOf);
    const why = whyOf(job);
    const key = `${hardware} ${why}`;
    const known = reasons.get(key) ?? { hardware, gpus, why, jobs: 0, since: at };
    reasons.set(key, { ...known, jobs: known.jobs + 1, since: Math.min(known.since, at) });
  }
  return [...reasons.values()].toSorted((a, b) => b.jobs - a.jobs);
}

/** Looks up facts that are the same for all jobs of a class once. */
function reasonsIn(state: PoolState, look: ClassLook) {
  const boxes = boxesOf(state, look);
  return (job: Job) => obstacleTo(state, look, job, boxes)?.why ?? "busy";
}
