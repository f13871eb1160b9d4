/** Why the jobs of a class wait: the number of jobs for each reason. */
import { canTake } from "./box.ts";
import { ClassLook } from "./class-look.ts";
import { boxesOf, keptFor, type Obstacle, obstacleTo } from "./explain.ts";
import type { Job } from "./line.ts";
import type { PoolState } from "./pool-state.ts";
import type { Ask } from "./types.ts";

export interface ClassReason {
  why: Obstacle["why"] | "busy";
  jobs: number;
  accounts: number;
  /** The boxes that are reserved, for these jobs or for others before them, or have declined. */
  boxes: string[];
  /** When the reserved box is expected to be free. */
  free_at: number | null;
}

interface WaitingAccount {
  account: string;
  jobs: number;
  /** Since when the first of the jobs waits, and what for. */
  since: number;
  why: ClassReason["why"];
}

/** The most accounts that are returned: a page shows no more, and a class may have a thousand. */
const MAX_ACCOUNTS = 10;

export interface ClassExplanation {
  reasons: ClassReason[];
  by_account: WaitingAccount[];
  /** GPUs that a container of the class takes; 0: none. */
  gpus: number;
  /** The number of boxes that take jobs of the class, their GPUs, and how many of these are in use. */
  boxes: number;
  box_gpus: number;
  used_gpus: number;
  /** Whether a container of the class has room but no slot: all slots of its box are taken. */
  lacks_slots: boolean;
}

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
  const accounts = new Map<string, WaitingAccount>();
  for (const job of line.jobs()) {
    const reason = obstacleTo(state, look, job, boxes) ?? ({ why: "busy" } as const);
    const { why } = reason;
    const group = groups.get(why) ?? newGroup(why);
    groups.set(why, group);
    group.jobs += 1;
    group.ids.add(job.ask.account);
    countJob(accounts, { ...job.ask, account: state.accountOf(job.ask) }, why);
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
    by_account: [...accounts.values()].toSorted((a, b) => b.jobs - a.jobs).slice(0, MAX_ACCOUNTS),
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

function countJob(
  accounts: Map<string, WaitingAccount>,
  { account, at }: Ask,
  why: ClassReason["why"],
): void {
  const known = accounts.get(account);
  if (!known) accounts.set(account, { account, jobs: 1, since: at, why });
  else {
    known.jobs += 1;
    if (at < known.since) Object.assign(known, { since: at, why });
  }
}

const newGroup = (why: ClassReason["why"]) => ({
  why,
  jobs: 0,
  accounts: 0,
  boxes: [],
  free_at: null,
  ids: new Set<string>(),
});

export interface SomeReason {
  hardware: string;
  gpus: number;
  why: ClassReason["why"];
  jobs: number;
  since: number;
}

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
