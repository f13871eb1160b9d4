/**
 * The line of a pool: the waiting jobs, each a row, and the fate of those that are handed out. A job whose
 * attempt is open, because it was just offered or its runner did not come for it, is handed out as it is; for
 * any other an attempt is opened when there is room.
 */
import { LRUCache } from "lru-cache";
import { AnnouncedJobs } from "../../domain/scheduling/announced-jobs.ts";
import { handOut } from "../../domain/scheduling/decide/decide.ts";
import type { PoolState } from "../../domain/scheduling/decide/pool-state.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { WaitingJob } from "../../protocol/queue.ts";
import type { OfferedJob } from "../stubs/pool.ts";
import { predictionWithId } from "../stubs/prediction.ts";
import type { ConnectedRunners } from "./connected-runners.ts";
import type { ContainerNames } from "./containers.ts";
import type { Handed } from "./polls.ts";
import { askOf, type Declination, type PoolRunner } from "./pool-runner.ts";
import { type WaitingCount, WaitingJobs, WaitTimes } from "./waiting-jobs.ts";

/** How often a job's prediction is called; after that the prediction must dispatch itself again. */
const MAX_TRIES = 5;
const RETRY_MS = 1_000;
/** The runners of a token share an allowance, so a decision may give several of them the same place. */
const MAX_ROUNDS = 10;
/**
 * A dispatch that arrives sooner after a hand-out was sent before it. Runners are given up after 10 s at the
 * earliest.
 */
const LATE_MS = 10_000;

/** A job in the line. Its attempt is open if it was offered. */
interface Waiting {
  job: WaitingJob;
  /** Unix ms. */
  since: number;
  offered?: OfferedJob | undefined;
}

/** The place that is decided for a job. */
interface Placement {
  runner: PoolRunner;
  number: number;
  stop: string[];
  start: boolean;
}

interface PoolLineOptions {
  ctx: DurableObjectState;
  env: Bindings;
  state: PoolState;
  connected: ConnectedRunners;
  names: ContainerNames;
  /** Called when idle containers are stopped for a job, with their number. */
  onEvicted: (containers: number) => void;
}

export class PoolLine {
  readonly #ctx: DurableObjectState;
  readonly #env: Bindings;
  readonly #state: PoolState;
  readonly #connected: ConnectedRunners;
  readonly #names: ContainerNames;
  readonly #onEvicted: (containers: number) => void;
  readonly #storedJobs: WaitingJobs;
  readonly #jobs = new Map<string, Waiting>();
  readonly #announced = new AnnouncedJobs();
  readonly #waitTimes = new WaitTimes();
  readonly #tries = new Map<string, number>();
  /** Predictions that ended lately: a dispatch or offer that is still on its way is not enqueued. */
  readonly #ended = new LRUCache<string, true>({ max: 10_000 });
  #nextLook: number | null = null;

  constructor({ ctx, env, state, connected, names, onEvicted }: PoolLineOptions) {
    this.#ctx = ctx;
    this.#env = env;
    this.#state = state;
    this.#connected = connected;
    this.#names = names;
    this.#onEvicted = onEvicted;
    this.#storedJobs = new WaitingJobs(ctx.storage.sql);
    for (const { job, since } of this.#storedJobs.all()) this.#ask({ job, since });
  }

  get size(): number {
    return this.#jobs.size;
  }

  /** How many jobs of an account wait or are on their way. */
  count(account: string, now: number): number {
    return this.#state.waitingOf(account) + this.#announced.count(account, now);
  }

  /** Announces a job that will come over the dispatch queue. */
  announce({ object_id, user_id }: WaitingJob, now: number): void {
    this.#announced.announce(object_id, user_id, now);
  }

  /**
   * When the job that waits longest came, unix ms.
   * @param hardware of this class; by default of any
   */
  oldest(hardware?: string): number | undefined {
    return this.#storedJobs.oldest(hardware)?.since;
  }

  idsOf(modelId: string): string[] {
    return [...this.#jobs.values()].flatMap(({ job }) =>
      job.model_id === modelId ? [job.object_id] : [],
    );
  }

  waitingCounts(): WaitingCount[] {
    return this.#storedJobs.counts();
  }

  medianWaitMs(hardware?: string): number | null {
    return this.#waitTimes.medianMs(hardware);
  }

  /**
   * Removes a job whose prediction has ended without a runner, or has fallen back.
   * @param mayReturn whether another job of the prediction may come
   */
  withdraw(id: string, mayReturn: boolean): void {
    if (!mayReturn) this.#ended.set(id, true);
    this.#announced.remove(id);
    this.#leave(id);
    this.#storedJobs.remove(id);
  }

  /** Adds a job to the line. A job that was there keeps its place. */
  #ask(waiting: Waiting): void {
    const { object_id } = waiting.job;
    this.#announced.remove(object_id);
    this.#names.add(waiting.job);
    this.#jobs.set(object_id, waiting);
    if (!this.#state.has(object_id)) this.#state.ask(askOf(waiting.job, waiting.since));
  }

  #leave(id: string): void {
    this.#jobs.delete(id);
    this.#state.withdraw(id);
  }

  /**
   * Offers a job to a runner. A job that waits in the line meanwhile, because its prediction has dispatched
   * it before, leaves the line with the offer, or keeps its place.
   * @returns false when no runner has room for the job: it is not put into the line
   */
  offerNow(waiting: Waiting, except?: string): boolean {
    const { since: now, job } = waiting;
    const id = job.object_id;
    const before = this.#jobs.get(id);
    this.#ask(waiting);
    if (except !== undefined) this.#state.exclude(id, except, now);
    this.assign();
    if (!this.#jobs.delete(id)) {
      if (before) this.#storedJobs.remove(id);
      return true;
    }
    if (before) this.#jobs.set(id, before);
    else this.#state.refuse(id, now);
    return false;
  }

  enqueue(waiting: Waiting): void {
    const { job, since } = waiting;
    const before = this.#jobs.get(job.object_id)?.job;
    // After a fallback within the pool, the prediction has another job.
    if (before && before.container_key !== job.container_key) this.withdraw(job.object_id, true);
    else if (before) return;
    if (this.#ended.has(job.object_id)) return;
    const handed = this.#state.handoutOf(job.object_id);
    if (handed && Date.now() - handed.at > LATE_MS) this.#connected.lost(handed);
    this.#storedJobs.add(job, since, undefined);
    this.#ask(waiting);
  }

  /** @param failedOn the runners whose machines failed to start it */
  waitsAgain(job: WaitingJob, failedOn: readonly string[]): void {
    const now = Date.now();
    const id = job.object_id;
    const handed = this.#state.handoutOf(id);
    if (handed) this.#state.lost(handed.box, handed.number, now);
    this.enqueue({ job, since: now });
    this.#state.failedOn(id, failedOn, now);
  }

  /** Places jobs whose attempts are open, and that their runner has not come for. */
  requeue(unclaimed: Pick<Handed, "job" | "since" | "offered">[]): void {
    for (const { job, since, offered } of unclaimed) {
      if (this.#ended.has(job.object_id)) this.#state.withdraw(job.object_id);
      else this.#ask({ job, since, offered });
    }
    this.assign();
    for (const { job, since, offered } of unclaimed) {
      const id = job.object_id;
      if (!this.#jobs.has(id)) {
        this.#storedJobs.remove(id);
        continue;
      }
      // The job waits on, and its attempt is closed when another one is opened.
      this.#storedJobs.add(job, since, offered.job.attempt);
      this.#jobs.set(id, { job, since });
    }
  }

  /**
   * Takes back a job that a runner has no place for. Its attempt is closed, uncounted, and the job waits
   * again.
   */
  async takeBack(runner: PoolRunner, { job, since, attempt, reason }: Declination): Promise<void> {
    const id = job.object_id;
    logger.warn("Job declined", { object_id: id, runner_id: runner.id, reason });
    const prediction = predictionWithId(this.#env, id);
    // A prediction that is not reached notices by itself that no runner connects.
    const waits = await prediction?.takeBack(attempt).catch(() => false);
    if (this.#jobs.has(id)) return;
    if (!waits || this.#ended.has(id)) return this.#state.withdraw(id);
    this.enqueue({ job, since });
    this.assign();
  }

  /**
   * Hands out all jobs that can be handed out now.
   * @param rounds decisions, each of which may be refused in part
   */
  assign(rounds = MAX_ROUNDS): void {
    const now = Date.now();
    const { handouts, until } = handOut(this.#state, now);
    let isRefused = false;
    for (const { ask, box, number, stop, starts } of handouts) {
      const waiting = this.#jobs.get(ask.id);
      const runner = this.#connected.get(box);
      this.#jobs.delete(ask.id);
      if (!waiting || !runner) {
        this.#state.dropped(box, number, now);
        this.#state.withdraw(ask.id);
        continue;
      }
      if (!this.#connected.isAllowed(runner)) {
        isRefused = true;
        this.#jobs.set(ask.id, waiting);
        this.#state.dropped(box, number, now);
        continue;
      }
      if (stop.length > 0) this.#names.addImages(runner.snapshot.containers);
      const start = ask.warm_up === true && starts;
      const placement = { runner, number, stop: [...stop], start };
      if (waiting.offered) this.#hand(placement, waiting, waiting.offered);
      else this.#ctx.waitUntil(this.#open(waiting, placement));
    }
    if (isRefused && rounds > 1) return this.assign(rounds - 1);
    const next = isRefused ? now + RETRY_MS : until;
    clearTimeout(this.#nextLook);
    this.#nextLook =
      next === null ? null : setTimeout(() => this.assign(), Math.max(0, next - now));
  }

  #hand({ runner, ...placed }: Placement, { job, since }: Waiting, offered: OfferedJob): void {
    this.#connected.hand(runner, { ...placed, job, since, offered });
    this.#onEvicted(placed.stop.length);
  }

  /** Opens an attempt of a stored job, for which there is room by then. */
  async #open(waiting: Waiting, placement: Placement): Promise<void> {
    const { job, since } = waiting;
    const id = job.object_id;
    const { runner, number } = placement;
    try {
      const { offered_attempt } = this.#storedJobs.find(id) ?? {};
      // A call that is not answered may leave an attempt open for nobody: the prediction expires it.
      const offered = await predictionWithId(this.#env, id)?.openAttempt(
        offered_attempt ?? undefined,
        job.container_key,
      );
      this.#tries.delete(id);
      if (offered && this.#connected.isUsable(runner) && this.#connected.isAllowed(runner)) {
        this.#storedJobs.remove(id);
        this.#waitTimes.add(job.hardware, Date.now() - since);
        return this.#hand(placement, waiting, offered);
      }
      this.#state.dropped(runner.id, number, Date.now());
      if (offered) return this.requeue([{ job, since, offered }]);
      // The prediction was canceled meanwhile, or runs already: its place goes to the next.
      const next = this.#replacementOf(job);
      this.#leave(id);
      this.#storedJobs.remove(id);
      if (next) this.enqueue(next);
      this.assign();
    } catch (error) {
      this.#state.dropped(runner.id, number, Date.now());
      const next = this.#replacementOf(job);
      this.#leave(id);
      if (next) {
        this.#storedJobs.remove(id);
        this.#storedJobs.add(next.job, next.since, undefined);
      }
      this.#retryLater(next ?? waiting, error);
    }
  }

  /** The job of the same prediction that has come meanwhile, after a fallback within the pool. */
  #replacementOf({ object_id, container_key }: WaitingJob): Waiting | undefined {
    const now = this.#jobs.get(object_id);
    return now?.job.container_key === container_key ? undefined : now;
  }

  #retryLater({ job, since }: Waiting, error: unknown): void {
    const id = job.object_id;
    const tries = (this.#tries.get(id) ?? 0) + 1;
    logger.warn("Attempt not opened", { object_id: id, tries, error });
    this.#tries.set(id, tries);
    if (tries >= MAX_TRIES) {
      this.#tries.delete(id);
      return this.#storedJobs.remove(id);
    }
    setTimeout(() => {
      if (this.#ended.has(id)) return void this.#tries.delete(id);
      this.#ask({ job, since });
      this.assign();
    }, RETRY_MS * tries);
  }
}
