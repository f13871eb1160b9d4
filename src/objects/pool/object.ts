/**
 * A pool, of one hardware class or of several that share machines: the waiting jobs and the waiting runners. Jobs are rows of its
 * SQLite. Polls and offers are only in memory, because both are repeated: a runner polls again, and
 * a prediction whose attempt no runner took dispatches itself again.
 */
import { DurableObject } from "cloudflare:workers";
import { LRUCache } from "lru-cache";
import { receiptOf } from "../../domain/predictions/lease.ts";
import { FairQueue } from "../../domain/scheduling/fair-queue.ts";
import { type JobRequirements, Placement } from "../../domain/scheduling/placement.ts";
import { RunnerStanding } from "../../domain/scheduling/runner-standing.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { WaitingJob } from "../../protocol/queue.ts";
import type { OfferedJob } from "../prediction/job-messages.ts";
import { predictionWithId } from "../prediction/stub.ts";
import { ReplacementCheck } from "../replacement-check.ts";
import { type KnownRunner, KnownRunners } from "./known-runners.ts";
import { tellMade } from "./made.ts";
import {
  type OfferResult,
  POLL_SECONDS,
  type PoolClaim,
  type PoolHolders,
  type PoolStatus,
  poolClaim,
} from "./rpc-types.ts";
import { watchToken } from "./token-watch.ts";
import { WaitTimes } from "./wait-times.ts";
import { WaitingJobs } from "./waiting-jobs.ts";
import { claimResponseText, type Offer, type WaitingRunner } from "./waiting-runner.ts";

/** How soon a runner with room is expected to poll again after a response. */
const RETURN_MS = 1_000;
/** Tries to reach a job's prediction; after that the prediction must dispatch itself again. */
const MAX_TRIES = 5;
const RETRY_MS = 1_000;
export class PoolObject extends DurableObject<Bindings> {
  readonly #placement = new Placement<WaitingRunner>();
  readonly #storedJobs = new WaitingJobs(this.ctx.storage.sql);
  readonly #queue = new FairQueue();
  readonly #waitTimes = new WaitTimes();
  readonly #standing = new RunnerStanding(settings(this.env).patience.connect_seconds);
  readonly #knownRunners = new KnownRunners(this.env);
  readonly #replacement = new ReplacementCheck(this.ctx);
  readonly #tries = new Map<string, number>();
  /** Predictions that ended lately: a dispatch or offer that is still on its way is not enqueued. */
  readonly #ended = new LRUCache<string, true>({ max: 10_000 });

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    for (const job of this.#storedJobs.all()) this.#queue.add(job);
    ctx.waitUntil(tellMade(env, ctx.id.name));
  }

  /** The express lane: hands a new job to a runner that polls or is about to. */
  offer(offered: OfferedJob, waiting: WaitingJob): OfferResult {
    const now = Date.now();
    const runner = this.#queue.empty ? this.#pick(waiting, now) : undefined;
    if (runner) {
      this.#hand(runner, { offered, waiting });
      return "taken";
    }
    if (this.#queue.count(waiting.user_id, now) >= settings(this.env).maxWaiting) return "full";
    this.#queue.announce(waiting, now);
    return "none";
  }

  /**
   * Hands a job to a second runner, because the first has not connected: only to one that polls.
   * @param receipt of the first attempt
   */
  offerSecond(offered: OfferedJob, waiting: WaitingJob, receipt: string): boolean {
    const now = Date.now();
    const first = this.#standing.holderOf(receipt);
    const runner = this.#placement.pick(
      waiting,
      (one) => one.respond !== undefined && one.runner_id !== first && this.#mayGetWork(one, now),
    );
    if (runner) this.#hand(runner, { offered, waiting });
    return runner !== undefined;
  }

  /** Adds jobs to the queue. A job that is in it keeps its place. */
  enqueue(jobs: WaitingJob[]): void {
    for (const job of jobs) this.#enqueue(job);
    this.#match();
  }

  /** Removes a job whose prediction has ended without a runner. */
  withdraw(objectId: string): void {
    this.#ended.set(objectId, true);
    this.#queue.remove(objectId);
    this.#storedJobs.remove(objectId);
  }

  /**
   * Removes a runner that takes no more work. The end of its poll is not always noticed: workerd does
   * not treat an orderly close (FIN) as a disconnect, and would hand it jobs for up to 30 s.
   */
  removeRunner(runnerId: string, session: string): void {
    const runner = this.#placement.get(runnerId);
    if (runner?.session !== session) return;
    this.#placement.remove(runnerId);
    runner.respond?.([]);
    for (const offer of runner.reserved.splice(0)) this.#replace(offer);
  }

  /**
   * An operator has drained, resumed or removed a runner.
   * @param forgive whether its misses are forgotten, as they are unless it was drained
   */
  async refreshRunner(runnerId: string, forgive: boolean): Promise<void> {
    this.#knownRunners.forget(runnerId);
    if (forgive) this.#standing.reset(runnerId);
    const runner = this.#placement.get(runnerId);
    if (!runner) return;
    const known = await this.#knownRunners.find(runner);
    if (typeof known === "string") return this.removeRunner(runnerId, runner.session);
    runner.draining = known.draining;
    this.#match();
  }

  /** The runner that was handed this attempt has not connected in time. */
  reportMissed(receipt: string): void {
    const now = Date.now();
    const runnerId = this.#standing.recordMissed(receipt, now);
    const until = runnerId === undefined ? null : this.#standing.suspendedUntil(runnerId, now);
    if (until !== null) setTimeout(() => this.#match(), until - now);
    this.#freeSlot(runnerId);
  }

  /** This attempt is no longer needed, because another runner connected first. */
  reportDismissed(receipt: string): void {
    this.#freeSlot(this.#standing.recordDismissed(receipt));
  }

  /** The suspended runners, and until when, unix ms. */
  suspendedRunners(): Map<string, number> {
    return this.#standing.suspended(Date.now());
  }

  /** The runners that need not download an image, as their last claims told. At most so many. */
  holders(job: JobRequirements, most: number): PoolHolders {
    const holders = this.#placement.holders(job);
    return { runners: holders.slice(0, most), more: Math.max(0, holders.length - most) };
  }

  /** @param hardware of one class; by default of all */
  status(hardware?: string): PoolStatus {
    const now = Date.now();
    let free = 0;
    for (const runner of this.#placement.runners) {
      const isServed = hardware === undefined || runner.hardware.includes(hardware);
      if (isServed && runner.respond && this.#mayGetWork(runner, now)) free += runner.free;
    }
    const waiting = this.#queue.size(hardware);
    const since = waiting === 0 ? null : (this.#storedJobs.oldest(hardware)?.since ?? null);
    return {
      waiting,
      free,
      oldest_wait_ms: since && now - since,
      median_wait_ms: this.#waitTimes.medianMs(hardware),
    };
  }

  /** A runner's long poll. It is a request because its signal aborts when the runner disconnects. */
  override async fetch(request: Request): Promise<Response> {
    const claim = poolClaim.parse(await request.json());
    const known = await this.#knownRunners.find(claim);
    if (typeof known === "string") {
      return new Response(null, { status: known === "superseded" ? 409 : 404 });
    }
    const jobs = await this.#claim(claim, known, request.signal);
    return new Response(await claimResponseText(jobs, claim, settings(this.env)), {
      headers: { "content-type": "application/json" },
    });
  }

  #claim(claim: PoolClaim, known: KnownRunner, signal: AbortSignal): Promise<OfferedJob[]> {
    this.#standing.recordConnected(claim.runner_id, claim.heard);
    return new Promise((resolve) => {
      // It may have disconnected while its session was looked up.
      if (signal.aborted) return resolve([]);
      const now = Date.now();
      const unconfirmed = this.#standing.unconfirmed(claim.runner_id, now);
      const previous = this.#placement.get(claim.runner_id);
      previous?.respond?.([]);
      const runner: WaitingRunner = {
        runner_id: claim.runner_id,
        session: claim.session,
        pool: claim.pool,
        hardware: known.hardware,
        slots: known.slots,
        requested: claim.free,
        // Whatever it claims, unconfirmed jobs take its slots.
        free: Math.max(0, Math.min(claim.free, known.slots - unconfirmed)),
        warm: new Set(claim.warm),
        images: new Set(claim.images),
        draining: known.draining,
        respond: undefined,
        expected_until: 0,
        reserved: [],
      };
      const timer = setTimeout(() => runner.respond?.([]), POLL_SECONDS * 1000);
      const stopWatching = watchToken(this.env, claim, () =>
        this.removeRunner(runner.runner_id, runner.session),
      );
      const release = this.#replacement.hold();
      const leave = () => {
        clearTimeout(timer);
        stopWatching();
        release();
        signal.removeEventListener("abort", onDisconnect);
        runner.respond = undefined;
      };
      const onDisconnect = () => {
        leave();
        if (this.#placement.get(runner.runner_id) === runner)
          this.#placement.remove(runner.runner_id);
      };
      runner.respond = (jobs) => {
        leave();
        const now = Date.now();
        runner.expected_until = now + RETURN_MS;
        for (const { lease } of jobs)
          this.#standing.recordHandout(runner.runner_id, receiptOf(lease.secret), now);
        resolve(jobs);
      };
      signal.addEventListener("abort", onDisconnect);
      this.#placement.add(runner);
      const usable = previous?.session === claim.session && this.#mayGetWork(runner, now);
      const reserved = usable ? previous.reserved.splice(0, runner.free) : [];
      const rest = previous?.reserved.splice(0) ?? [];
      runner.free -= reserved.length;
      // Before the rest is placed: an open poll would get it, though there is no room for it.
      if (reserved.length > 0) runner.respond(reserved.map(({ offered }) => offered));
      for (const offer of rest) this.#replace(offer);
      if (reserved.length === 0) this.#match();
    });
  }

  #mayGetWork({ runner_id, draining }: WaitingRunner, now: number): boolean {
    return !draining && this.#standing.suspendedUntil(runner_id, now) === null;
  }

  /** One of the runner's jobs is settled and takes no slot any more. */
  #freeSlot(runnerId: string | undefined): void {
    const runner = runnerId === undefined ? undefined : this.#placement.get(runnerId);
    if (!runner) return;
    runner.free = Math.min(runner.free + 1, runner.requested);
    this.#match();
  }

  /** Runners that poll come before those that are expected to. */
  #pick(job: JobRequirements, now: number): WaitingRunner | undefined {
    return (
      this.#placement.pick(
        job,
        (runner) => runner.respond !== undefined && this.#mayGetWork(runner, now),
      ) ??
      this.#placement.pick(
        job,
        (runner) => runner.expected_until > now && this.#mayGetWork(runner, now),
      )
    );
  }

  /** The classes that a runner has room for. */
  #servedClasses(now: number): Set<string> {
    const open = [...this.#placement.runners].filter(
      (runner) =>
        runner.free > 0 &&
        (runner.respond !== undefined || runner.expected_until > now) &&
        this.#mayGetWork(runner, now),
    );
    return new Set(open.flatMap(({ hardware }) => hardware));
  }

  #hand(runner: WaitingRunner, offer: Offer): void {
    runner.free -= 1;
    if (runner.respond) return runner.respond([offer.offered]);
    if (runner.reserved.push(offer) > 1) return;
    setTimeout(() => {
      for (const left of runner.reserved.splice(0)) this.#replace(left);
    }, runner.expected_until - Date.now());
  }

  /** The runner has not polled again: the job goes to another one, or into the queue. */
  #replace(offer: Offer): void {
    const runner = this.#pick(offer.waiting, Date.now());
    if (runner?.respond) return this.#hand(runner, offer);
    this.#enqueue(offer.waiting, offer.offered.job.attempt);
  }

  #enqueue(job: WaitingJob, unplaced?: number): void {
    if (this.#queue.has(job) || this.#ended.has(job.object_id)) return;
    this.#storedJobs.add(job, unplaced);
    this.#queue.add(job);
  }

  /** Assigns waiting jobs to waiting runners while there are both. */
  #match(): void {
    const now = Date.now();
    for (;;) {
      const served = this.#servedClasses(now);
      const job = this.#queue.next(({ hardware }) => served.has(hardware));
      const runner = job && this.#pick(job, now);
      if (!job || !runner) return;
      runner.free -= 1;
      this.ctx.waitUntil(this.#place(job, runner));
    }
  }

  /** Gets an attempt from the job's prediction and hands it to the runner with the reserved slot. */
  async #place(job: WaitingJob, runner: WaitingRunner): Promise<void> {
    try {
      const { unplaced, since } = this.#storedJobs.find(job.object_id) ?? {};
      // If it is not answered, an attempt may be open for nobody: the prediction expires it.
      const prediction = predictionWithId(this.env, job.object_id);
      const offered = await prediction?.openAttempt(unplaced ?? undefined);
      const now = Date.now();
      runner.free += 1;
      this.#tries.delete(job.object_id);
      const current = this.#placement.get(runner.runner_id) ?? runner;
      const isWaiting = current.respond !== undefined || current.expected_until > now;
      const usable = current.free > 0 && isWaiting && this.#mayGetWork(current, now);
      const best = usable ? current : this.#pick(job, now);
      // Its row is still stored, and with it its place in the queue and its waiting time.
      if (offered && !best) return this.#enqueue(job, offered.job.attempt);
      this.#storedJobs.remove(job.object_id);
      // Undefined: it was canceled meanwhile, or runs already. The slot goes to the next job.
      if (!offered || !best) return this.#match();
      if (since) this.#waitTimes.add(job.hardware, now - since);
      this.#hand(best, { offered, waiting: job });
    } catch (error) {
      runner.free += 1;
      const tries = (this.#tries.get(job.object_id) ?? 0) + 1;
      logger.warn("Attempt not opened", { object_id: job.object_id, tries, error });
      this.#tries.set(job.object_id, tries);
      if (tries >= MAX_TRIES) {
        this.#tries.delete(job.object_id);
        return this.#storedJobs.remove(job.object_id);
      }
      setTimeout(() => {
        this.#queue.add(job);
        this.#match();
      }, RETRY_MS * tries);
    }
  }
}
