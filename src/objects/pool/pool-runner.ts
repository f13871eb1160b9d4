/** A runner as its pool knows it: its last report, its poll, and the jobs on their way to it. */
import { z } from "zod";
import { receiptOf } from "../../domain/predictions/lease.ts";
import type { Ask, BoxView } from "../../domain/scheduling/decide/types.ts";
import type { WaitingJob } from "../../protocol/queue.ts";
import { claimRequest } from "../../protocol/runner.ts";
import type { RunnerSnapshot } from "../../protocol/runner-state.ts";
import { type PoolReport, type RunnerJob, runnerJob } from "../stubs/pool.ts";
import { type KnownRunner, knownRunner } from "./known-runners.ts";
import type { Handed, HeldPoll } from "./polls.ts";
import { RunnerWork } from "./runner-work.ts";

/** Characters of JSON; 256 containers have about 110,000. */
const MAX_REPORT = 130_000;

/** The most characters of images. Further images count as not downloaded. */
const MAX_IMAGES = 30_000;

const MAX_RUNNERS = 1_000;

/** The part of a handed job that is kept until the runner has connected for it. */
interface OnItsWay extends Pick<Handed, "number" | "job" | "since"> {
  attempt: number;
  receipt: string;
  /** Whether the job waits again, so that it takes no place on this runner. */
  isGivenUp?: boolean;
}

/** A job that a runner has no place for. */
export interface Declination extends OnItsWay {
  reason: string;
}

export const storedRunner = z.object({
  claim: claimRequest.extend({ token_id: z.string() }),
  known: knownRunner,
  /** Unix ms. */
  reported_at: z.number(),
  work: z.array(runnerJob),
});

export type StoredRunner = z.infer<typeof storedRunner>;

/**
 * How far in the future the number of a hand-out may be: numbers are about the time
 * (domain/scheduling/decide/box.ts), and none was given so far ahead.
 */
const AHEAD_MS = 3_600_000;

/**
 * The kept part of a snapshot, as far as it can be true: with a number like 2^53 there would be no room for
 * those of the next hand-outs.
 */
const kept = (snapshot: RunnerSnapshot, now: number): RunnerSnapshot => ({
  ...snapshot,
  handed: Math.min(snapshot.handed, now + AHEAD_MS),
  measured: [],
  declined: [],
  receipts: [],
});

/** A job as its pool's rules see it. */
export const askOf = (job: WaitingJob, at: number): Ask => ({
  id: job.object_id,
  account: job.user_id,
  priority: job.priority,
  hardware: job.hardware,
  gpus: job.gpus,
  key: job.container_key,
  image: job.image,
  max_concurrency: job.max_concurrency,
  run_limit_ms: job.run_limit_ms,
  at,
  warm_up: job.warm_up,
});

export class PoolRunner {
  readonly id: string;
  readonly session: string;
  readonly #pool: string;
  #token: string;
  #known: KnownRunner | undefined;
  poll: HeldPoll<Handed> | undefined;
  /**
   * Whether the poll was answered, and the runner is expected to poll again, until `returnTimer` ends that.
   */
  isReturning = false;
  returnTimer: number | null = null;
  /** The jobs that the runner is handed when it polls again. */
  readonly held: Handed[] = [];
  readonly #onTheirWay = new Map<string, OnItsWay>();
  lastSeenAt: number;
  #isMissing = false;
  #snapshot: RunnerSnapshot;
  /** When the snapshot was reported, unix ms: its durations count from then. */
  #reportedAt: number;
  #images: ReadonlySet<string>;
  readonly #work: RunnerWork;

  constructor(
    { runner_id, session, pool, token_id, snapshot, images = [] }: PoolReport,
    now: number,
    work?: RunnerJob[],
  ) {
    this.id = runner_id;
    this.session = session;
    this.#pool = pool;
    this.#token = token_id;
    this.#snapshot = kept(snapshot, now);
    this.#reportedAt = now;
    this.#images = keptImages(images);
    this.lastSeenAt = now;
    this.#work = new RunnerWork(work);
  }

  get identity() {
    return { runner_id: this.id, session: this.session, pool: this.#pool };
  }

  get holder() {
    return { runnerId: this.id, token: this.#token };
  }

  /** @param hardware a class; by default any */
  serves(hardware: string | undefined): boolean {
    return hardware === undefined || this.#known?.hardware.includes(hardware) === true;
  }

  /** The classes that it serves. */
  get hardware(): readonly string[] {
    return this.#known?.hardware ?? [];
  }

  get name(): string | undefined {
    return this.#known?.name;
  }

  get images(): ReadonlySet<string> {
    return this.#images;
  }

  /** Whether an operator drains the runner: it may poll, and is handed nothing. */
  get draining(): boolean {
    return this.#known?.draining ?? false;
  }

  know(known: KnownRunner): void {
    this.#known = known;
  }

  /** The stored form of the runner: enough to make it again. */
  get stored(): StoredRunner | undefined {
    if (!this.#known) return undefined;
    const claim = {
      ...this.identity,
      token_id: this.#token,
      snapshot: this.#snapshot,
      images: [...this.#images],
    };
    return { claim, known: this.#known, reported_at: this.lastSeenAt, work: this.#work.stored };
  }

  /** Restores a runner without its poll and the hand-outs on their way: these are in memory. */
  static restore({ claim, known, reported_at, work }: StoredRunner): PoolRunner {
    const runner = new PoolRunner(claim, reported_at, work);
    runner.know(known);
    return runner;
  }

  /** Whether a later snapshot of the session has come before. */
  isLate({ session, snapshot }: Pick<PoolReport, "session" | "snapshot">): boolean {
    return session === this.session && snapshot.number <= this.#snapshot.number;
  }

  /**
   * Takes a report. A snapshot that came late changes nothing.
   * @returns the jobs that the runner has no place for
   */
  takeReport(report: PoolReport, now: number): Declination[] {
    const { snapshot, images } = report;
    this.lastSeenAt = now;
    this.#isMissing = false;
    if (this.isLate(report)) return [];
    if (images) this.#images = keptImages(images);
    this.#token = report.token_id;
    this.#snapshot = kept(snapshot, now);
    this.#reportedAt = now;
    this.#work.reported(snapshot);
    const reasons = new Map(snapshot.declined.map(({ handout, reason }) => [handout, reason]));
    return [...this.#onTheirWay.values()].flatMap((one) => {
      const reason = reasons.get(one.number);
      if (reason === undefined || one.number > snapshot.handed) return [];
      return [{ ...one, reason }];
    });
  }

  expect(handed: Handed, now: number): void {
    const { number, job, since, offered } = handed;
    this.#work.add(handed, now);
    const receipt = receiptOf(offered.lease.secret);
    this.#onTheirWay.set(receipt, { number, job, since, attempt: offered.job.attempt, receipt });
  }

  /**
   * Settles a job: the runner has connected for it, or is not expected to any more.
   * @returns the job, if it was on its way
   */
  settle(receipt: string): OnItsWay | undefined {
    const settled = this.#onTheirWay.get(receipt);
    this.#onTheirWay.delete(receipt);
    return settled;
  }

  /**
   * Keeps the jobs that are held for the runner, and of the others those that it is still expected to connect
   * for.
   * @returns those that the runner has never reported
   */
  settleAllBut(unconfirmed: ReadonlyMap<string, unknown>): OnItsWay[] {
    const held = new Set(this.held.map(({ number }) => number));
    const settled = [...this.#onTheirWay.values()].filter(
      ({ number, receipt }) => !held.has(number) && !unconfirmed.has(receipt),
    );
    for (const { receipt } of settled) this.#onTheirWay.delete(receipt);
    return settled.filter(({ number }) => number > this.#snapshot.handed);
  }

  /** Gives up a job, which waits again because the runner was silent. */
  giveUp(number: number): void {
    this.#isMissing = true;
    this.#work.forget(number);
    for (const one of this.#onTheirWay.values()) if (one.number === number) one.isGivenUp = true;
  }

  /** Whether a job was given up since the runner's last report. */
  get isMissing(): boolean {
    return this.#isMissing;
  }

  get slots(): number {
    return Math.min(this.#snapshot.slots, this.#known?.slots ?? 0);
  }

  /**
   * The hand-outs of the runner's jobs. Whatever it reports, those that it has not connected for are among
   * them.
   */
  get #jobs(): number[] {
    const { jobs, handed } = this.#snapshot;
    const unconfirmed = [...this.#onTheirWay.values()].map(({ number }) => number);
    return [...new Set([...jobs, ...unconfirmed.filter((number) => number <= handed)])];
  }

  get snapshot(): Readonly<RunnerSnapshot> {
    return this.#snapshot;
  }

  /** When the snapshot was reported, unix ms. */
  get reportedAt(): number {
    return this.#reportedAt;
  }

  /** The known predictions among the runner's jobs. */
  get work(): RunnerJob[] {
    return this.#work.of(this.#jobs);
  }

  /** Number of hand-outs that the last snapshot does not know of. */
  get #unseen(): number {
    let unseen = 0;
    for (const { number, isGivenUp } of this.#onTheirWay.values())
      if (number > this.#snapshot.handed && !isGivenUp) unseen += 1;
    return unseen;
  }

  get freeSlotsForHeld(): number {
    return Math.max(0, this.slots - this.#jobs.length - (this.#unseen - this.held.length));
  }

  /** The slots of its jobs, and of those on their way to it. */
  get usedSlots(): number {
    return Math.min(this.slots, this.#jobs.length + this.#unseen);
  }

  /** Whether the runner has as many jobs as it may, by its own report. */
  get isFull(): boolean {
    return this.#jobs.length >= this.slots;
  }

  /** Whether the runner polls, or is about to. */
  get isExpected(): boolean {
    return this.poll !== undefined || this.isReturning;
  }

  /** Whether a container for such jobs is ready and has room. */
  isWarm(containerKey: string): boolean {
    return this.#snapshot.containers.some(
      ({ key, phase, users, max_concurrency }) =>
        key === containerKey && phase === "ready" && users < max_concurrency,
    );
  }

  /**
   * The runner as the rules of placement see it.
   * @param allowance how many more jobs it may be handed
   * @param declined numbers of hand-outs that it has just declined
   */
  view(allowance: number, declined: readonly number[] = []): BoxView {
    const { handed, devices, containers, max_containers } = this.#snapshot;
    const isDeclined = new Set(declined);
    const handouts = this.#jobs.filter((number) => !isDeclined.has(number));
    return {
      id: this.id,
      classes: this.hardware,
      slots: this.slots,
      jobs_max: handouts.length + this.#unseen + allowance,
      containers_max: max_containers,
      // A lost GPU stays counted with the container that holds it.
      gpus: devices.filter(({ lost, holder }) => !lost || holder !== null).length,
      handed,
      handouts,
      declined,
      containers: containers.map(({ name, phase_ms, idle_ms, runs_ms, ...container }) => ({
        ...container,
        id: name,
        since: this.#reportedAt - phase_ms,
        ...(idle_ms !== null && { idle_since: this.#reportedAt - idle_ms }),
        runs: runs_ms.map((ms) => this.#reportedAt - ms),
      })),
      images: this.#images,
    };
  }
}

/** Whether the kept part of a runner's report is small enough. */
export const isSmall = ({ containers, devices, jobs }: RunnerSnapshot): boolean =>
  JSON.stringify([containers, devices, jobs]).length <= MAX_REPORT;

export function keptImages(images: readonly string[]): ReadonlySet<string> {
  let left = MAX_IMAGES;
  return new Set(
    images.filter((image) => {
      left -= image.length;
      return left >= 0;
    }),
  );
}

/**
 * Whether another runner of a token may join: a token has at most half of the places that other tokens leave.
 * @param own runners that the token has in the pool
 * @param others runners of other tokens
 */
export const mayJoin = (own: number, others: number): boolean =>
  own < Math.ceil((MAX_RUNNERS - others) / 2);
