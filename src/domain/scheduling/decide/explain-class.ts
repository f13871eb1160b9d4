/** Why the jobs of a class wait: how many for each reason. */

import { canTake } from "./box.ts";
import { ClassLook } from "./class-look.ts";
import { boxesOf, keptFor, type Obstacle, obstacleTo } from "./explain.ts";
import type { PoolState } from "./pool-state.ts";

export interface ClassReason {
  why: Obstacle["why"] | "busy";
  jobs: number;
  /** How many accounts have made them. */
  accounts: number;
  /** The boxes that it is about: reserved for these jobs, or, if these wait for their turn, for others; or that have declined. */
  boxes: string[];
  /** When the box is expected to be free that is reserved for it. */
  free_at: number | null;
}

export interface ClassExplanation {
  /** Most jobs first. */
  reasons: ClassReason[];
  /** GPUs that a container of the class takes; 0: it needs none. */
  gpus: number;
  /** Of the boxes that take its jobs: how many, their GPUs, and how many of these are in use. */
  boxes: number;
  box_gpus: number;
  used_gpus: number;
  /** Whether a container of the class has room that is of no use: all slots of its box are taken. */
  lacks_slots: boolean;
}

/** @returns undefined if nobody waits */
export function explainClass(
  state: PoolState,
  hardware: string,
  now: number,
): ClassExplanation | undefined {
  const line = state.line.classes.get(hardware);
  if (!line) return undefined;
  const look = new ClassLook(state, hardware, line, now);
  const boxes = boxesOf(state, look);
  const { all } = boxes;
  const kept = keptFor(state, hardware);
  const groups = new Map<ClassReason["why"], ClassReason & { ids: Set<string> }>();
  for (const job of line.jobs()) {
    const reason = obstacleTo(state, look, job, boxes) ?? ({ why: "busy" } as const);
    const { why } = reason;
    const group = groups.get(why) ?? newGroup(why);
    groups.set(why, group);
    group.jobs += 1;
    group.ids.add(job.ask.account);
    if (reason.why === "busy") group.boxes = kept;
    if (reason.why === "declined") group.boxes = [...new Set([...group.boxes, ...reason.boxes])];
    if (reason.why !== "reserved") continue;
    group.boxes = [reason.box];
    group.free_at = reason.free_at;
  }
  return {
    reasons: [...groups.values()]
      .map(({ ids, ...group }) => ({ ...group, accounts: ids.size }))
      .toSorted((a, b) => b.jobs - a.jobs),
    gpus: line.gpus,
    boxes: all.length,
    box_gpus: all.reduce((sum, { gpus }) => sum + gpus, 0),
    used_gpus: all.reduce((sum, { usedGpus }) => sum + usedGpus, 0),
    lacks_slots: all.some(
      (box) =>
        box.freeSlots === 0 &&
        [...box.containers.values()].some((one) => one.hardware === hardware && canTake(one)),
    ),
  };
}

const newGroup = (why: ClassReason["why"]) => ({
  why,
  jobs: 0,
  accounts: 0,
  boxes: [],
  free_at: null,
  ids: new Set<string>(),
});
