/**
 * The record of a pool's runners: whether they connect for the jobs that they take. A runner that connects
 * to a prediction gets a receipt, which it presents with its next claim. Until then the job is unconfirmed,
 * and `Allowances` limits how many of these a runner may have. A missed job, whose runner has not connected
 * in time, counts against the runner: after three it is suspended, each time for longer. A declined job
 * counts half: one now and then is ordinary, but a runner that declines all jobs delays each of them. Starts
 * that fail have a count of their own (failed-starts.ts).
 */

import { LRUCache } from "lru-cache";
import { FailedStarts } from "./failed-starts.ts";

/** An unconfirmed job is forgotten this long after its prediction must have reported it. */
const LATE_REPORT_MS = 10_000;
/** Misses within this time count as one: a runner that dies may miss as many jobs as it has slots. */
const MISS_WINDOW_MS = 5_000;
/** A miss weighs twice as much as a confirmed job makes up for: flaky runners are suspended, too. */
const MISS_WEIGHT = 2;
const DECLINED_WEIGHT = 1;
const SUSPENSION_WEIGHT = 6;
const SUSPENSION_MS = { first: 10_000, max: 600_000 };

interface RunnerRecord {
  /** When each unconfirmed job was handed out, unix ms, by its receipt. */
  unconfirmed: Map<string, number>;
  weight: number;
  missedAt: number;
  suspensions: number;
  suspendedUntil: number;
}

interface Held extends Holder {
  isProven: boolean;
}

export interface Suspension {
  /** Unix ms. */
  until: number;
  /** Why the runner's starts fail; null for one that does not connect, or declines. */
  reason: string | null;
}

const newRecord = (): Omit<RunnerRecord, "unconfirmed"> => ({
  weight: 0,
  missedAt: Number.NEGATIVE_INFINITY,
  suspensions: 0,
  suspendedUntil: 0,
});

export class RunnerReliability {
  readonly #records = new Map<string, RunnerRecord>();
  readonly #holders = new Map<string, Held>();
  /** How many unconfirmed jobs the runners of a token have that were not proven when they got them. */
  readonly #shared = new Map<string, number>();
  readonly #allowances = new Allowances();
  readonly failedStarts = new FailedStarts();
  readonly #forgottenMs: number;

  constructor(connectSeconds: number) {
    this.#forgottenMs = connectSeconds * 1000 + LATE_REPORT_MS;
  }

  recordHandout(holder: Holder, receipt: string, now: number): void {
    const { runnerId, token } = holder;
    this.#recordOf(runnerId).unconfirmed.set(receipt, now);
    if (this.#holders.has(receipt)) return;
    const isProven = this.#allowances.isProven(runnerId);
    this.#holders.set(receipt, { runnerId, token, isProven });
    if (!isProven) this.#shared.set(token, (this.#shared.get(token) ?? 0) + 1);
  }

  /** Confirms the jobs of the receipts that a runner presents; those of other runners are ignored. */
  recordConnected(runnerId: string, receipts: readonly string[]): void {
    for (const receipt of receipts) {
      const holder = this.#holders.get(receipt);
      if (holder?.runnerId !== runnerId) continue;
      this.#settle(receipt);
      this.#allowances.reported(holder);
      const record = this.#recordOf(runnerId);
      record.weight = Math.max(0, record.weight - 1);
      if (record.weight === 0) record.suspensions = 0;
      this.#deleteIfGood(runnerId, record);
    }
  }

  /** Counts a job whose runner has not connected in time. @returns the id of the runner */
  recordMissed(receipt: string, now: number): string | undefined {
    return this.#count(receipt, MISS_WEIGHT, now);
  }

  /** Counts a job that its runner has no place for. @returns the id of the runner */
  recordDeclined(receipt: string, now: number): string | undefined {
    return this.#count(receipt, DECLINED_WEIGHT, now);
  }

  /**
   * Settles a job on which another runner has reported first. The slower runner gets fewer jobs, and is never
   * suspended for it.
   * @returns the id of the slower runner
   */
  recordDismissed(receipt: string): string | undefined {
    const holder = this.#settle(receipt);
    if (holder) this.#allowances.silent(holder);
    return holder?.runnerId;
  }

  recordUnsent(receipt: string): void {
    this.#settle(receipt);
  }

  /** Forgets the misses of a runner that an operator has resumed or removed. */
  reset(runnerId: string): void {
    this.failedStarts.reset(runnerId);
    this.#allowances.forget(runnerId);
    const record = this.#records.get(runnerId);
    if (!record) return;
    Object.assign(record, newRecord());
    this.#deleteIfGood(runnerId, record);
  }

  holderOf(receipt: string): Holder | undefined {
    return this.#holders.get(receipt);
  }

  /** Whether the runner has reported on a job since it was silent. */
  isProven(runnerId: string): boolean {
    return this.#allowances.isProven(runnerId);
  }

  /** How many more jobs a runner may be handed, even if it has room for more. */
  allowance(holder: Holder, now: number): number {
    const own = this.unconfirmed(holder.runnerId, now).size;
    const shared = this.#shared.get(holder.token) ?? 0;
    return this.#allowances.remaining(holder, { own, shared });
  }

  unconfirmed(runnerId: string, now: number): ReadonlyMap<string, unknown> {
    const { unconfirmed = new Map() } = this.#records.get(runnerId) ?? {};
    for (const [receipt, at] of unconfirmed)
      if (now - at > this.#forgottenMs) this.#settle(receipt);
    return unconfirmed;
  }

  /** Until when a runner is suspended, unix ms; null when it is not. */
  suspendedUntil(runnerId: string, now: number): number | null {
    const { suspendedUntil = 0 } = this.#records.get(runnerId) ?? {};
    const until = Math.max(suspendedUntil, this.failedStarts.suspendedUntil(runnerId, now) ?? 0);
    return until > now ? until : null;
  }

  suspended(now: number): Map<string, Suspension> {
    const all = new Map<string, Suspension>(this.failedStarts.suspended(now));
    for (const [id, { suspendedUntil: until }] of this.#records)
      if (until > (all.get(id)?.until ?? now)) all.set(id, { until, reason: null });
    return all;
  }

  #count(receipt: string, weight: number, now: number): string | undefined {
    const holder = this.#settle(receipt);
    if (!holder) return undefined;
    const { runnerId } = holder;
    if (weight === MISS_WEIGHT) this.#allowances.silent(holder);
    const record = this.#recordOf(runnerId);
    if (now - record.missedAt < MISS_WINDOW_MS) return runnerId;
    record.missedAt = now;
    record.weight += weight;
    if (record.weight < SUSPENSION_WEIGHT) return runnerId;
    // A single miss after the suspension suspends the runner again.
    record.weight = SUSPENSION_WEIGHT - weight;
    const ms = Math.min(SUSPENSION_MS.first * 2 ** record.suspensions, SUSPENSION_MS.max);
    record.suspendedUntil = now + ms;
    record.suspensions += 1;
    return runnerId;
  }

  #settle(receipt: string): Held | undefined {
    const holder = this.#holders.get(receipt);
    if (!holder) return undefined;
    const { runnerId, token, isProven } = holder;
    this.#holders.delete(receipt);
    if (!isProven) this.#giveBack(token);
    const record = this.#recordOf(runnerId);
    record.unconfirmed.delete(receipt);
    this.#deleteIfGood(runnerId, record);
    return holder;
  }

  #giveBack(token: string): void {
    const left = (this.#shared.get(token) ?? 0) - 1;
    if (left > 0) this.#shared.set(token, left);
    else this.#shared.delete(token);
  }

  #recordOf(runnerId: string): RunnerRecord {
    let record = this.#records.get(runnerId);
    if (!record) {
      record = { unconfirmed: new Map(), ...newRecord() };
      this.#records.set(runnerId, record);
    }
    return record;
  }

  #deleteIfGood(runnerId: string, { unconfirmed, weight, suspendedUntil }: RunnerRecord): void {
    if (unconfirmed.size === 0 && weight === 0 && suspendedUntil === 0)
      this.#records.delete(runnerId);
  }
}

/**
 * The number of jobs that runners may have and have not reported on. A runner begins with a few and may have
 * one more with each that it reports on: while it works, this doubles with each round. The runners of a token
 * that have reported on none, or were silent since, share the token's allowance, so that new names are no way
 * around it. A runner that was silent begins again with less.
 */

/** The most jobs of runners that have reported on none: each may be delayed by a second. */
const FIRST = { runner: 4, token: 8 };
const AFTER_SILENCE = { runner: 1, token: 4 };
/** The most jobs that the runners of a token share, however many were reported with it. */
const MAX_SHARED = 32;
const MAX_KNOWN = 20_000;

interface Conduct {
  /** Reports since the last silence. */
  reports: number;
  wasSilent: boolean;
}

interface Holder {
  runnerId: string;
  token: string;
}

class Allowances {
  /** Conduct of runners and of tokens, by their ids. */
  readonly #conducts = new LRUCache<string, Conduct>({ max: MAX_KNOWN });

  reported({ runnerId, token }: Holder): void {
    for (const id of [runnerId, token]) {
      const { reports = 0, wasSilent = false } = this.#conducts.get(id) ?? {};
      this.#conducts.set(id, { reports: reports + 1, wasSilent });
    }
  }

  silent({ runnerId, token }: Holder): void {
    for (const id of this.isProven(runnerId) ? [runnerId] : [runnerId, token])
      this.#conducts.set(id, { reports: 0, wasSilent: true });
  }

  /** Forgets the conduct of a runner that an operator has resumed. */
  forget(runnerId: string): void {
    this.#conducts.delete(runnerId);
  }

  /** Whether the runner has reported on a job since it was silent. */
  isProven(runnerId: string): boolean {
    return (this.#conducts.get(runnerId)?.reports ?? 0) > 0;
  }

  /**
   * How many more jobs a runner may be handed.
   * @param own the jobs that it has not reported on
   * @param shared the unreported jobs of the token's runners that are not proven
   */
  remaining({ runnerId, token }: Holder, { own, shared }: { own: number; shared: number }): number {
    const left = this.#most(runnerId, "runner") - own;
    if (this.isProven(runnerId)) return Math.max(0, left);
    const most = Math.min(this.#most(token, "token"), MAX_SHARED);
    return Math.max(0, Math.min(left, most - shared));
  }

  #most(id: string, of: "runner" | "token"): number {
    const { reports = 0, wasSilent = false } = this.#conducts.get(id) ?? {};
    return (wasSilent ? AFTER_SILENCE : FIRST)[of] + reports;
  }
}
