/**
 * The pool of one hardware class: the jobs that wait and the runners that wait for them. Waiting
 * jobs are rows of its SQLite; polls and offers live in memory, because whoever sent them sends
 * them again (a runner polls anew, a prediction whose attempt nobody took dispatches itself).
 */
import { DurableObject } from "cloudflare:workers";
import { LRUCache } from "lru-cache";
import { receiptOf } from "../../domain/predictions/lease.ts";
import { FairQueue } from "../../domain/scheduling/fair-queue.ts";
import { type Placed, Placement } from "../../domain/scheduling/placement.ts";
import { RunnerStanding } from "../../domain/scheduling/runner-standing.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { WaitingJob } from "../../protocol/queue.ts";
import type { OfferedJob } from "../prediction/job-messages.ts";
import { type PoolClaim, poolClaim } from "./claim.ts";
import { type KnownRunner, KnownRunners } from "./known-runners.ts";
import { watchToken } from "./token-watch.ts";
import { WaitTimes } from "./wait-times.ts";
import { WaitingJobs } from "./waiting-jobs.ts";
import { claimText, type Offer, type WaitingRunner } from "./waiting-runner.ts";

/** The longest a poll is held, s. Runners are told so when they begin a session. */
export const POLL_SECONDS = 30;
/** How long a runner with room is expected back after its poll was answered. */
const RETURN_MS = 1_000;
/** A job whose prediction does not answer is tried again so often; then its own re-dispatch must do. */
const MAX_TRIES = 5;
const RETRY_MS = 1_000;
/** Whoever has room. */
const ANY: Placed = { image: "", container_key: "" };

/** What an operator is told of a pool. */
interface Depth {
  waiting: number;
  /** For how many there is room at runners that wait. */
  free: number;
  oldest_wait_ms: number | null;
  median_wait_ms: number | null;
}

export type OfferAnswer = "taken" | "none" | "full";

export class PoolObject extends DurableObject<Bindings> {
  readonly #placement = new Placement<WaitingRunner>();
  readonly #waiting = new WaitingJobs(this.ctx.storage.sql);
  readonly #line = new FairQueue();
  readonly #waits = new WaitTimes();
  readonly #conduct = new RunnerStanding(settings(this.env).patience.connect_seconds);
  readonly #runners = new KnownRunners(this.env);
  readonly #tries = new Map<string, number>();
  /** What has ended lately: a dispatch that is still on its way, or an offer, finds no place in the line. */
  readonly #ended = new LRUCache<string, true>({ max: 10_000 });

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    for (const job of this.#waiting.all()) this.#line.add(job);
  }

  /**
   * The express lane: hands a new job to a runner that waits, or is about to.
   * @returns `none` when the job should come over the queue, `full` when its account has too many
   * waiting already.
   */
  offer(offered: OfferedJob, waiting: WaitingJob): OfferAnswer {
    const now = Date.now();
    const seat = this.#line.empty ? this.#pick(waiting, now) : undefined;
    if (seat) {
      this.#hand(seat, { offered, waiting });
      return "taken";
    }
    if (this.#line.count(waiting.user_id, now) >= settings(this.env).maxWaiting) return "full";
    this.#line.announce(waiting, now);
    return "none";
  }

  /**
   * Hands a job to another runner than the one that has this receipt ahead of it, and was not heard
   * of it: to one whose poll is open, or to nobody.
   */
  offerSecond(offered: OfferedJob, waiting: WaitingJob, receipt: string): boolean {
    const now = Date.now();
    const holder = this.#conduct.holder(receipt);
    const seat = this.#placement.pick(
      waiting,
      (one) => one.answer !== undefined && one.runner_id !== holder && this.#may(one, now),
    );
    if (seat) this.#hand(seat, { offered, waiting });
    return seat !== undefined;
  }

  /** Adds jobs to the line. One that is in it already stays where it is. */
  enqueue(jobs: WaitingJob[]): void {
    for (const job of jobs) this.#enqueue(job);
    this.#match();
  }

  /** Takes a job out that has ended without a runner. */
  withdraw(objectId: string): void {
    this.#ended.set(objectId, true);
    this.#line.remove(objectId);
    this.#waiting.remove(objectId);
  }

  /**
   * Forgets a runner that takes no more work. Its poll's own end does not always tell: workerd
   * takes an orderly close (FIN) for no disconnect, and would hand jobs to it for up to 30 s.
   */
  leave(runnerId: string, session: string): void {
    const seat = this.#placement.get(runnerId);
    if (seat?.session !== session) return;
    this.#placement.leave(runnerId);
    seat.answer?.([]);
    for (const offer of seat.reserved.splice(0)) this.#replace(offer);
  }

  /**
   * An operator has drained, resumed or removed a runner.
   * @param pardoned resumed or removed: nothing is held against it any more
   */
  async reconsider(runnerId: string, pardoned: boolean): Promise<void> {
    this.#runners.forget(runnerId);
    if (pardoned) this.#conduct.pardon(runnerId);
    const seat = this.#placement.get(runnerId);
    if (!seat) return;
    const known = await this.#runners.of(seat);
    if (typeof known === "string") return this.leave(runnerId, seat.session);
    seat.draining = known.draining;
    this.#match();
  }

  /** Its prediction has waited for the runner that was handed this attempt in vain. */
  unheard(receipt: string): void {
    const now = Date.now();
    const runnerId = this.#conduct.missed(receipt, now);
    const until = runnerId === undefined ? null : this.#conduct.asideUntil(runnerId, now);
    if (until !== null) setTimeout(() => this.#match(), until - now);
    this.#spared(runnerId);
  }

  /** Another runner was heard first: this attempt is not wanted any more. */
  excuse(receipt: string): void {
    this.#spared(this.#conduct.excused(receipt));
  }

  /** The runners that are set aside, and until when, unix ms. */
  aside(): Map<string, number> {
    return this.#conduct.aside(Date.now());
  }

  depth(): Depth {
    const now = Date.now();
    let free = 0;
    for (const seat of this.#placement.seats)
      if (seat.answer && this.#may(seat, now)) free += seat.free;
    const since = this.#line.empty ? null : (this.#waiting.first()?.since ?? null);
    return {
      waiting: this.#line.size,
      free,
      oldest_wait_ms: since && Date.now() - since,
      median_wait_ms: this.#waits.median,
    };
  }

  /** A runner's long poll, as a request: its signal tells when the runner has gone. */
  override async fetch(request: Request): Promise<Response> {
    const claim = poolClaim.parse(await request.json());
    const known = await this.#runners.of(claim);
    if (typeof known === "string") {
      return new Response(null, { status: known === "superseded" ? 409 : 404 });
    }
    const jobs = await this.#claim(claim, known, request.signal);
    return new Response(await claimText(jobs, claim), {
      headers: { "content-type": "application/json" },
    });
  }

  #claim(claim: PoolClaim, known: KnownRunner, signal: AbortSignal): Promise<OfferedJob[]> {
    this.#conduct.heard(claim.runner_id, claim.heard);
    return new Promise((resolve) => {
      // It has gone while its session was looked up.
      if (signal.aborted) return resolve([]);
      const now = Date.now();
      const unheard = this.#conduct.unheard(claim.runner_id, now);
      const before = this.#placement.get(claim.runner_id);
      before?.answer?.([]);
      const seat: WaitingRunner = {
        runner_id: claim.runner_id,
        session: claim.session,
        hardware: claim.hardware,
        slots: known.slots,
        asked: claim.free,
        // It may say what it likes: what it was not heard of yet takes its slots.
        free: Math.max(0, Math.min(claim.free, known.slots - unheard)),
        warm: new Set(claim.warm),
        images: new Set(claim.images),
        draining: known.draining,
        answer: undefined,
        until: 0,
        reserved: [],
      };
      const timer = setTimeout(() => seat.answer?.([]), POLL_SECONDS * 1000);
      const unwatch = watchToken(this.env, claim, () => this.leave(seat.runner_id, seat.session));
      const gone = () => {
        clearTimeout(timer);
        unwatch();
        seat.answer = undefined;
        if (this.#placement.get(seat.runner_id) === seat) this.#placement.leave(seat.runner_id);
      };
      seat.answer = (jobs) => {
        clearTimeout(timer);
        unwatch();
        signal.removeEventListener("abort", gone);
        seat.answer = undefined;
        const now = Date.now();
        seat.until = now + RETURN_MS;
        for (const { lease } of jobs)
          this.#conduct.handed(seat.runner_id, receiptOf(lease.secret), now);
        resolve(jobs);
      };
      signal.addEventListener("abort", gone);
      this.#placement.seat(seat);
      const usable = before?.session === claim.session && this.#may(seat, now);
      const held = usable ? before.reserved.splice(0, seat.free) : [];
      const left = before?.reserved.splice(0) ?? [];
      seat.free -= held.length;
      // Answered first: what it has no room for must not find it with an open poll.
      if (held.length > 0) seat.answer(held.map(({ offered }) => offered));
      for (const offer of left) this.#replace(offer);
      if (held.length === 0) this.#match();
    });
  }

  /** Whether it is to get work at all. */
  #may({ runner_id, draining }: WaitingRunner, now: number): boolean {
    return !draining && this.#conduct.asideUntil(runner_id, now) === null;
  }

  /** A job that it was not heard of takes its slot no longer. */
  #spared(runnerId: string | undefined): void {
    const seat = runnerId === undefined ? undefined : this.#placement.get(runnerId);
    if (!seat) return;
    seat.free = Math.min(seat.free + 1, seat.asked);
    this.#match();
  }

  #pick(job: Placed, now: number): WaitingRunner | undefined {
    return (
      this.#placement.pick(job, (seat) => seat.answer !== undefined && this.#may(seat, now)) ??
      this.#placement.pick(job, (seat) => seat.until > now && this.#may(seat, now))
    );
  }

  #hand(seat: WaitingRunner, offer: Offer): void {
    seat.free -= 1;
    if (seat.answer) return seat.answer([offer.offered]);
    if (seat.reserved.push(offer) > 1) return;
    setTimeout(() => {
      for (const left of seat.reserved.splice(0)) this.#replace(left);
    }, seat.until - Date.now());
  }

  /** The runner did not come back for it: another one, or the line. */
  #replace(offer: Offer): void {
    const seat = this.#pick(offer.waiting, Date.now());
    if (seat?.answer) return this.#hand(seat, offer);
    this.#enqueue(offer.waiting, offer.offered.job.attempt);
  }

  #enqueue(job: WaitingJob, unplaced?: number): void {
    if (this.#line.has(job) || this.#ended.has(job.object_id)) return;
    this.#waiting.add(job, unplaced);
    this.#line.add(job);
  }

  /** Brings waiting jobs and waiting runners together, for as long as there are both. */
  #match(): void {
    const now = Date.now();
    while (!this.#line.empty) {
      if (!this.#pick(ANY, now)) return;
      const job = this.#line.next();
      const seat = job && this.#pick(job, now);
      if (!job || !seat) return;
      seat.free -= 1;
      this.ctx.waitUntil(this.#place(job, seat));
    }
  }

  /** Gets the job's attempt from its prediction and hands it to the seat reserved for it. */
  async #place(job: WaitingJob, seat: WaitingRunner): Promise<void> {
    const stub = this.env.PREDICTION.get(this.env.PREDICTION.idFromString(job.object_id));
    try {
      const { unplaced, since } = this.#waiting.find(job.object_id) ?? {};
      const offered = await stub.openAttempt(unplaced ?? undefined);
      const now = Date.now();
      seat.free += 1;
      this.#tries.delete(job.object_id);
      const current = this.#placement.get(seat.runner_id) ?? seat;
      const there = current.answer !== undefined || current.until > now;
      const usable = current.free > 0 && there && this.#may(current, now);
      const best = usable ? current : this.#pick(job, now);
      // Its row stays: with its place in the line, and since when it waits.
      if (offered && !best) return this.#enqueue(job, offered.job.attempt);
      this.#waiting.remove(job.object_id);
      // Undefined: cancelled meanwhile, or at work already. The seat goes to the next.
      if (!offered || !best) return this.#match();
      if (since) this.#waits.add(now - since);
      this.#hand(best, { offered, waiting: job });
    } catch (error) {
      seat.free += 1;
      const tries = (this.#tries.get(job.object_id) ?? 0) + 1;
      logger.warn("Attempt not opened", { object_id: job.object_id, tries, error });
      this.#tries.set(job.object_id, tries);
      if (tries >= MAX_TRIES) {
        this.#tries.delete(job.object_id);
        return this.#waiting.remove(job.object_id);
      }
      setTimeout(() => {
        this.#line.add(job);
        this.#match();
      }, RETRY_MS * tries);
    }
  }
}
