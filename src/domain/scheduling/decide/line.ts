/** The jobs that wait in a pool. */
import { type Ask, LEVELS, type Priority } from "./types.ts";

/** The containers of one key and class serve the same jobs. */
export const queueKeyOf = ({ hardware, key }: { hardware: string; key: string }): string =>
  `${hardware} ${key}`;

export class Line {
  /** Lines of the classes, in the order of their turns. */
  readonly classes = new Map<string, ClassLine>();
  readonly #jobs = new Map<string, Job>();
  readonly #queues = new Map<string, Set<Job>>();
  /** The waiting warm-ups, as they came. */
  readonly warmUps = new Set<Job>();
  #lastPosition = 0;

  get size(): number {
    return this.#jobs.size;
  }

  get(id: string): Job | undefined {
    return this.#jobs.get(id);
  }

  *asks(): Generator<Ask> {
    for (const { ask } of this.#jobs.values()) yield ask;
  }

  /** Jobs by the containers that they wait for, as they came. */
  get queues(): ReadonlyMap<string, ReadonlySet<Job>> {
    return this.#queues;
  }

  /** @returns false if the job is there: it keeps its place */
  add(ask: Ask): boolean {
    if (this.#jobs.has(ask.id)) return false;
    this.#lastPosition += 1;
    const job: Job = {
      ask,
      queueKey: queueKeyOf(ask),
      position: this.#lastPosition,
      overtaken: 0,
      first_since: undefined,
      waits_warm_until: undefined,
      declined: new Map(),
    };
    this.#put(job, false);
    return true;
  }

  giveBack(job: Job): void {
    if (!this.#jobs.has(job.ask.id)) this.#put(job, true);
  }

  remove(id: string): Job | undefined {
    const job = this.#jobs.get(id);
    if (!job) return undefined;
    this.#jobs.delete(id);
    this.warmUps.delete(job);
    const jobs = this.#queues.get(job.queueKey);
    jobs?.delete(job);
    if (jobs?.size === 0) this.#queues.delete(job.queueKey);
    const line = this.classes.get(job.ask.hardware);
    line?.remove(job);
    if (line?.size === 0) this.classes.delete(job.ask.hardware);
    return job;
  }

  /** Puts the next turn of a job's account, and that of its class, after all others. */
  passTurn({ account, hardware }: Ask): void {
    for (const line of this.classes.values()) line.passTurn(account);
    const line = this.classes.get(hardware);
    if (!line) return;
    this.classes.delete(hardware);
    this.classes.set(hardware, line);
  }

  #put(job: Job, returns: boolean): void {
    const { id, hardware, gpus } = job.ask;
    this.#jobs.set(id, job);
    if (job.ask.warm_up) this.warmUps.add(job);
    const jobs = this.#queues.get(job.queueKey);
    if (jobs) jobs.add(job);
    else this.#queues.set(job.queueKey, new Set([job]));
    let line = this.classes.get(hardware);
    if (!line) {
      line = new ClassLine(gpus);
      this.classes.set(hardware, line);
    }
    line.add(job, returns);
  }
}

/**
 * The jobs that wait for one class of hardware: by priority, within it in turn among accounts, first in
 * first out within an account.
 */

/** A job of low priority counts as normal after this time. */
export const RISE_MS = 600_000;

export interface Job {
  readonly ask: Ask;
  readonly queueKey: string;
  /** The job's place among the jobs of its account. */
  position: number;
  /** How often a job behind it was handed out before it, while it was first in turn. */
  overtaken: number;
  first_since: number | undefined;
  /** Until when the job is, or was, held for a container. */
  waits_warm_until: number | undefined;
  declined: Map<string, Declined>;
}

interface Declined {
  /** State of the box as it was then: the box is not asked again before it reports another one. */
  state: number;
  times: number;
  /** When the box may be asked again; both conditions must hold. */
  until: number;
}

type Jobs = Map<string, Job>;

interface Turn {
  jobs: Record<Priority, Jobs>;
  size: number;
}

export function levelOf({ priority, at }: Ask, now: number): Priority {
  return priority === "low" && now - at >= RISE_MS ? "normal" : priority;
}

/** Turn of an account within a priority: accounts that stand behind come last, others are left out. */
export type TurnOf = (account: string) => "in turn" | "behind" | "out";

export class ClassLine {
  size = 0;
  readonly gpus: number;
  /** Accounts in the order of their turns. */
  readonly #turns = new Map<string, Turn>();
  /** How many jobs were asked for with each priority. */
  readonly #sizes = { high: 0, normal: 0, low: 0 };

  constructor(gpus: number) {
    this.gpus = gpus;
  }

  count(account: string): number {
    return this.#turns.get(account)?.size ?? 0;
  }

  hasOthers(account: string): boolean {
    return this.size > this.count(account);
  }

  /** @param returns whether the job was here before, and comes before those that came after it */
  add(job: Job, returns: boolean): void {
    const { id, account, priority } = job.ask;
    let turn = this.#turns.get(account);
    if (!turn) {
      const jobs = { high: new Map(), normal: new Map(), low: new Map() };
      turn = { jobs, size: 0 };
      this.#turns.set(account, turn);
    }
    turn.jobs[priority].set(id, job);
    if (returns) turn.jobs[priority] = inOrder(turn.jobs[priority]);
    this.#sizes[priority] += 1;
    turn.size += 1;
    this.size += 1;
  }

  remove({ ask: { id, account, priority } }: Job): void {
    const turn = this.#turns.get(account);
    if (!turn?.jobs[priority].delete(id)) return;
    this.#sizes[priority] -= 1;
    turn.size -= 1;
    this.size -= 1;
    if (turn.size === 0) this.#turns.delete(account);
  }

  /** Puts the account's next turn after all others. */
  passTurn(account: string): void {
    const turn = this.#turns.get(account);
    if (!turn) return;
    this.#turns.delete(account);
    this.#turns.set(account, turn);
  }

  /** All jobs, in no order, whatever share their accounts have. */
  *jobs(): Generator<Job> {
    for (const { jobs } of this.#turns.values())
      for (const level of LEVELS) yield* jobs[level].values();
  }

  *order(now: number, turnOf: TurnOf): Generator<Job> {
    for (const level of LEVELS) yield* this.orderOf(level, now, turnOf);
  }

  *orderOf(level: Priority, now: number, turnOf: TurnOf): Generator<Job> {
    const { normal, low } = this.#sizes;
    if ((level === "normal" ? normal + low : this.#sizes[level]) === 0) return;
    const later: Turn[] = [];
    const going: Iterator<Job>[] = [];
    for (const [account, turn] of this.#turns) {
      const stands = turnOf(account);
      if (stands === "behind") later.push(turn);
      else if (stands === "in turn") yield* step(jobsAt(turn, level, now), going);
    }
    yield* inTurn(going);
    yield* inTurn(later.map((turn) => jobsAt(turn, level, now)));
  }
}

/** A job from each account, then a second one from each, and so on. */
function* inTurn(accounts: Iterator<Job>[]): Generator<Job> {
  for (let going = accounts; going.length > 0; ) {
    const still: Iterator<Job>[] = [];
    for (const jobs of going) yield* step(jobs, still);
    going = still;
  }
}

function* step(jobs: Iterator<Job>, still: Iterator<Job>[]): Generator<Job> {
  const next = jobs.next();
  if (next.done) return;
  yield next.value;
  still.push(jobs);
}

/** An account's jobs that count as of a priority, in order. */
function jobsAt({ jobs }: Turn, level: Priority, now: number): Iterator<Job> {
  if (level === "high" || jobs.low.size === 0) return jobs[level].values();
  const low = lowAt(jobs.low, level, now);
  return level === "low" ? low : merged(jobs.normal.values(), low);
}

function* lowAt(jobs: Jobs, level: Priority, now: number): Generator<Job> {
  for (const job of jobs.values()) if (levelOf(job.ask, now) === level) yield job;
}

function* merged(one: Iterator<Job>, other: Iterator<Job>): Generator<Job> {
  let [a, b] = [one.next(), other.next()];
  while (!a.done || !b.done) {
    if (!a.done && (b.done || a.value.position < b.value.position)) {
      yield a.value;
      a = one.next();
    } else if (!b.done) {
      yield b.value;
      b = other.next();
    }
  }
}

const inOrder = (jobs: Jobs): Jobs =>
  new Map([...jobs].toSorted(([, a], [, b]) => a.position - b.position));
