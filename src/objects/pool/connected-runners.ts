/**
 * The runners of a pool: their polls, the jobs on their way to them, and their last reports. Reports go to
 * the state by which jobs are placed. A runner that was answered is expected back within a second: until then
 * it is handed jobs as if it polled.
 */
import { LRUCache } from "lru-cache";
import { receiptOf } from "../../domain/predictions/lease.ts";
import type { PoolState } from "../../domain/scheduling/decide/pool-state.ts";
import type { Handout } from "../../domain/scheduling/decide/types.ts";
import type { FailedStart } from "../../domain/scheduling/failed-starts.ts";
import { RunnerReliability } from "../../domain/scheduling/runner-reliability.ts";
import type { PoolReport } from "../stubs/pool.ts";
import type { KnownRunner } from "./known-runners.ts";
import type { Handed, HeldPoll } from "./polls.ts";
import { type Declination, isSmall, mayJoin, PoolRunner } from "./pool-runner.ts";
import type { RunnerEvents } from "./runner-events.ts";
import { StoredRunners } from "./stored-runners.ts";

/** How soon a runner with room is expected to poll again after a response. */
const RETURN_MS = 1_000;
/** Runners report every 30 s, full ones too. */
const SILENCE_MS = 90_000;

interface ConnectedRunnersOptions {
  state: PoolState;
  sql: SqlStorage;
  /** How long a prediction waits for its runner to connect. */
  connectSeconds: number;
  events: RunnerEvents;
  /** Called with the jobs that were held for a runner that has not come back. */
  onUnclaimed: (handed: Handed[]) => void;
  /** Called when something has changed that nobody has asked for. */
  onChange: () => void;
}

export class ConnectedRunners {
  readonly #options: ConnectedRunnersOptions;
  readonly #state: PoolState;
  readonly reliability: RunnerReliability;
  readonly #stored: StoredRunners;
  readonly #runners = new Map<string, PoolRunner>();
  /** The sessions of runners that have said that they take no more work. */
  readonly #left = new LRUCache<string, string>({ max: 10_000 });
  /** When the suspension of each runner ends, each with a timer. */
  readonly #comingBack = new Map<string, number>();
  /** Runners that get no job because of others with their token. */
  readonly #short = new Set<string>();
  #sweep: number | null = null;

  constructor(options: ConnectedRunnersOptions) {
    this.#options = options;
    this.#state = options.state;
    this.reliability = new RunnerReliability(options.connectSeconds);
    this.#stored = new StoredRunners(options.sql);
    const now = Date.now();
    for (const runner of this.#stored.load(now - SILENCE_MS)) {
      this.#add(runner);
      this.#update(runner, now);
    }
    this.#watch();
  }

  get(runnerId: string): PoolRunner | undefined {
    return this.#runners.get(runnerId);
  }

  get all(): Iterable<PoolRunner> {
    return this.#runners.values();
  }

  isUsable(runner: PoolRunner): boolean {
    const isKnown = this.#runners.get(runner.id) === runner;
    return isKnown && runner.isExpected && this.#takes(runner, Date.now());
  }

  /**
   * Whether a runner may have another job now: one decision may give several runners a place that they share.
   */
  isAllowed(runner: PoolRunner): boolean {
    const now = Date.now();
    if (this.reliability.allowance(runner.holder, now) > 0) return true;
    this.#update(runner, now);
    return false;
  }

  // ---- reports of runners

  /** Whether the runner has left: its earlier reports may come afterwards. A poll brings it back. */
  hasLeft({ runner_id, session }: PoolReport): boolean {
    return this.#left.get(runner_id) === session;
  }

  /** @returns also the jobs that the runner has no place for */
  receive(
    report: PoolReport,
    known: KnownRunner,
  ): { runner: PoolRunner; declined: Declination[] } | "too_large" | "too_many" {
    const now = Date.now();
    const { runner_id, session, snapshot } = report;
    const previous = this.#runners.get(runner_id);
    // The runner has connected for these jobs, whether or not its report is kept.
    this.reliability.recordConnected(runner_id, snapshot.receipts);
    if (snapshot.receipts.length > 0) this.#updateShort(report.token_id, now);
    for (const receipt of snapshot.receipts) previous?.settle(receipt);
    const isLate = previous?.isLate(report) ?? false;
    const refused =
      (!isLate && !isSmall(snapshot) && "too_large") ||
      (!previous && !this.#mayJoin(report.token_id) && "too_many");
    if (refused) {
      // The process of the session before is gone all the same.
      if (previous && previous.session !== session) this.#drop(runner_id);
      return refused;
    }
    this.#left.delete(runner_id);
    const wasFull = previous?.isFull;
    let runner = previous;
    let declined: Declination[] = [];
    if (runner?.session === session) declined = runner.takeReport(report, now);
    else {
      if (previous) this.#end(previous);
      runner = new PoolRunner(report, now);
      this.#add(runner);
    }
    runner.know(known);
    // The runner is about to poll.
    if (wasFull && !runner.isFull && !runner.isExpected) this.#expectBack(runner);
    for (const { receipt } of declined) this.reliability.recordDeclined(receipt, now);
    this.#update(
      runner,
      now,
      declined.map(({ number }) => number),
    );
    if (declined.length > 0) this.#comeBack(runner_id, now);
    this.#stored.put(runner);
    this.#watch();
    return { runner, declined };
  }

  #mayJoin(token: string): boolean {
    let own = 0;
    for (const { holder } of this.#runners.values()) if (holder.token === token) own += 1;
    return mayJoin(own, this.#runners.size - own);
  }

  /** Answers the poll with the jobs that were held for the runner, as far as it has room. */
  pollBegan(runner: PoolRunner, poll: HeldPoll<Handed>): void {
    const now = Date.now();
    runner.poll?.answer([]);
    runner.poll = poll;
    clearTimeout(runner.returnTimer);
    const fits = this.#takes(runner, now) ? runner.freeSlotsForHeld : 0;
    const ready = runner.held.splice(0, fits);
    const rest = runner.held.splice(0);
    // The poll is answered before the rest is placed: an open poll would get the rest, though there is no
    // room for it.
    if (ready.length > 0) runner.poll?.answer(ready);
    this.#takeBack(runner, rest);
  }

  pollEnded(runner: PoolRunner, poll: HeldPoll<Handed>, isGone: boolean): void {
    if (runner.poll !== poll) return;
    runner.poll = undefined;
    if (isGone) runner.isReturning = false;
    else this.#expectBack(runner);
    this.#update(runner, Date.now());
  }

  #add(runner: PoolRunner): void {
    this.#runners.set(runner.id, runner);
    this.#options.events.begin(runner);
  }

  #expectBack(runner: PoolRunner): void {
    clearTimeout(runner.returnTimer);
    runner.isReturning = true;
    runner.returnTimer = setTimeout(() => this.#expire(runner), RETURN_MS);
  }

  hand(runner: PoolRunner, handed: Handed): void {
    const now = Date.now();
    runner.expect(handed, now);
    this.reliability.recordHandout(runner.holder, receiptOf(handed.offered.lease.secret), now);
    if (runner.poll) runner.poll.answer([handed]);
    else runner.held.push(handed);
  }

  /** Stops handing jobs to a runner that has not come back, until it polls again. */
  #expire(runner: PoolRunner): void {
    runner.isReturning = false;
    this.#takeBack(runner, runner.held.splice(0));
    // Jobs that were kept for its containers may go elsewhere.
    this.#options.onChange();
  }

  /** Takes back jobs, first from the state, or they would be handed to the same runner again. */
  #takeBack(runner: PoolRunner, unclaimed: Handed[]): void {
    const now = Date.now();
    for (const { number, offered } of unclaimed) {
      runner.settle(receiptOf(offered.lease.secret));
      this.reliability.recordUnsent(receiptOf(offered.lease.secret));
      this.#state.dropped(runner.id, number, now);
    }
    this.#update(runner, now);
    if (unclaimed.length > 0) this.#updateShort(runner.holder.token, now);
    this.#options.onUnclaimed(unclaimed);
  }

  // ---- hand-outs

  missed(receipt: string): void {
    const now = Date.now();
    const holder = this.reliability.holderOf(receipt);
    if (!holder) return;
    if (this.#unheld(holder.runnerId, receipt)) this.reliability.recordUnsent(receipt);
    else this.reliability.recordMissed(receipt, now);
    this.#settled(holder, receipt);
    this.#comeBack(holder.runnerId, now);
  }

  /** Lets a suspended runner come back once its suspension is over. */
  #comeBack(runnerId: string, now: number): void {
    const until = this.reliability.suspendedUntil(runnerId, now);
    if (until === null || this.#comingBack.get(runnerId) === until) return;
    this.#comingBack.set(runnerId, until);
    const { reason = null } = this.reliability.suspended(now).get(runnerId) ?? {};
    this.#options.events.setAside(runnerId, { until, reason }, now);
    setTimeout(() => {
      if (this.#comingBack.get(runnerId) === until) this.#comingBack.delete(runnerId);
      const runner = this.#runners.get(runnerId);
      if (runner) this.#update(runner, Date.now());
      this.#options.onChange();
    }, until - now);
  }

  dismissed(receipt: string): void {
    const holder = this.reliability.holderOf(receipt);
    if (!holder) return;
    if (this.#unheld(holder.runnerId, receipt)) this.reliability.recordUnsent(receipt);
    else this.reliability.recordDismissed(receipt);
    this.#settled(holder, receipt);
  }

  startFailed(runnerId: string, failed: FailedStart): void {
    const now = Date.now();
    this.reliability.failedStarts.record(runnerId, failed, now);
    const runner = this.#runners.get(runnerId);
    if (runner) this.#update(runner, now);
    this.#comeBack(runnerId, now);
  }

  /** A job of the runner waits again: the runner counts as silent, though it may be full and have no poll. */
  lost({ box, number }: Pick<Handout, "box" | "number">): void {
    const now = Date.now();
    this.#state.lost(box, number, now);
    const runner = this.#runners.get(box);
    if (!runner) return;
    runner.giveUp(number);
    this.#update(runner, now);
  }

  /**
   * Removes the job from those held for a runner that is expected back.
   * @returns whether it was held
   */
  #unheld(runnerId: string, receipt: string): boolean {
    const { held = [] } = this.#runners.get(runnerId) ?? {};
    const at = held.findIndex(({ offered }) => receiptOf(offered.lease.secret) === receipt);
    if (at >= 0) held.splice(at, 1);
    return at >= 0;
  }

  /** Frees the slot of a job that has ended or is not expected any more. */
  #settled({ runnerId, token }: PoolRunner["holder"], receipt: string): void {
    const now = Date.now();
    const runner = this.#runners.get(runnerId);
    const settled = runner?.settle(receipt);
    if (settled) this.#state.lost(runnerId, settled.number, now);
    if (runner) this.#update(runner, now);
    this.#updateShort(token, now);
  }

  /** Updates runners that were short of the token's allowance, which may have grown. */
  #updateShort(token: string, now: number): void {
    for (const id of this.#short) {
      const runner = this.#runners.get(id);
      if (!runner) this.#short.delete(id);
      else if (runner.holder.token === token) this.#update(runner, now);
    }
  }

  // ---- presence of runners

  /**
   * Takes over what the runner's object knows now.
   * @param known undefined: the runner has been removed
   * @returns whether it was set aside until now
   */
  refresh(runnerId: string, known: KnownRunner | undefined, forgive: boolean): boolean {
    const now = Date.now();
    const isForgiven = forgive && this.reliability.suspendedUntil(runnerId, now) !== null;
    if (forgive) this.reliability.reset(runnerId);
    const runner = this.#runners.get(runnerId);
    if (runner && known) {
      runner.know(known);
      this.#update(runner, now);
    } else if (runner) this.remove(runnerId, runner.session);
    return isForgiven;
  }

  /** Removes a runner that takes no more work. */
  remove(runnerId: string, session: string): void {
    this.#left.set(runnerId, session);
    if (this.#runners.get(runnerId)?.session === session) this.#drop(runnerId);
  }

  #drop(runnerId: string): void {
    const runner = this.#runners.get(runnerId);
    if (!runner) return;
    this.#runners.delete(runnerId);
    this.#stored.delete(runnerId);
    this.#end(runner);
  }

  #end(runner: PoolRunner): void {
    this.#state.leave(runner.id, Date.now());
    runner.poll?.answer([]);
    const unclaimed = runner.held.splice(0);
    for (const { offered } of unclaimed)
      this.reliability.recordUnsent(receiptOf(offered.lease.secret));
    this.#options.onUnclaimed(unclaimed);
  }

  /** Drops silent runners as gone; a timer runs only while there are any runners. */
  #watch(): void {
    if (this.#sweep !== null || this.#runners.size === 0) return;
    this.#sweep = setTimeout(() => {
      this.#sweep = null;
      const since = Date.now() - SILENCE_MS;
      for (const { id, poll, lastSeenAt } of this.#runners.values())
        if (!poll && lastSeenAt < since) this.#drop(id);
      this.#stored.save();
      void this.#options.events.report(this.#runners.values());
      this.#watch();
      this.#options.onChange();
    }, SILENCE_MS / 3);
  }

  // ---- for pages

  /**
   * For how many jobs the polling runners have room.
   * @param hardware of this class; by default of any
   */
  free(hardware?: string): number {
    const now = Date.now();
    let free = 0;
    for (const runner of this.#runners.values())
      if (runner.poll && runner.serves(hardware) && this.#takes(runner, now))
        free += this.#state.fleet.boxes.get(runner.id)?.unusedSlots ?? 0;
    return free;
  }

  /**
   * Whether the runner takes jobs. A full runner does not poll, and is well all the same, as far as is known.
   */
  #takes(runner: PoolRunner, now: number): boolean {
    if (runner.draining) return false;
    if (!runner.isExpected && (!runner.isFull || runner.isMissing)) return false;
    return this.reliability.suspendedUntil(runner.id, now) === null;
  }

  /** Updates the runner in the state. A runner that is gone is not known any more. */
  #update(runner: PoolRunner, now: number, declined?: readonly number[]): void {
    if (this.#runners.get(runner.id) !== runner) return;
    const lost = runner.settleAllBut(this.reliability.unconfirmed(runner.id, now));
    for (const { number } of lost) this.#state.lost(runner.id, number, now);
    const allowance = this.reliability.allowance(runner.holder, now);
    if (allowance > 0 || this.reliability.isProven(runner.id)) this.#short.delete(runner.id);
    else this.#short.add(runner.id);
    this.#state.report(runner.view(allowance, declined), now);
    const isAside = this.reliability.suspendedUntil(runner.id, now) !== null;
    this.#state.setTakes(runner.id, this.#takes(runner, now), !runner.draining && !isAside);
  }
}
