/**
 * Runners of a pool that fail to start containers because of their machines, such as by a full disk. Three
 * such failures in a row set a runner aside, each time for longer, until a start succeeds. A version could
 * make every machine fail: failures of a publisher's versions on a second runner do not count, until one that
 * has failed has started somewhere. Another version of the publisher that starts proves nothing about those
 * that fail.
 */
import { LRUCache } from "lru-cache";

/** Failures in a row that set a runner aside. After that a single one sets it aside again. */
const MAX_IN_A_ROW = 3;
const SUSPENSION_MS = { first: 10_000, max: 600_000 };
/** The most publishers with failures that are remembered: more are made on purpose. */
const MAX_PUBLISHERS = 10_000;
/** The containers of a publisher that are remembered: the latest that failed. */
const MAX_CONTAINERS = 100;

export interface FailedStart {
  publisher: string;
  container: string;
  /** The reason as callers may read it. */
  reason: string;
}

export interface FailedInARow {
  times: number;
  reason: string;
  at: number;
}

interface StartRecord extends FailedInARow {
  counted: number;
  suspensions: number;
  /** Unix ms. */
  suspendedUntil: number;
}

interface Failing {
  runners: Set<string>;
  containers: Set<string>;
}

export class FailedStarts {
  readonly #records = new Map<string, StartRecord>();
  /** The containers of a publisher that have failed, and on which runners, since one of them started. */
  readonly #failing = new LRUCache<string, Failing>({ max: MAX_PUBLISHERS });

  record(runnerId: string, { publisher, container, reason }: FailedStart, now: number): void {
    const failing = this.#failing.get(publisher) ?? { runners: new Set(), containers: new Set() };
    this.#failing.set(publisher, failing);
    const { runners, containers } = failing;
    runners.add(runnerId);
    containers.add(container);
    const [oldest] = containers;
    if (containers.size > MAX_CONTAINERS && oldest !== undefined) containers.delete(oldest);
    const before = this.#records.get(runnerId) ?? GOOD;
    const record = { ...before, times: before.times + 1, reason, at: now };
    this.#records.set(runnerId, record);
    // Failures of starts that had begun when the runner was set aside prove nothing new.
    if (runners.size > 1 || record.suspendedUntil > now) return;
    record.counted += 1;
    if (record.counted < MAX_IN_A_ROW) return;
    record.counted = MAX_IN_A_ROW - 1;
    const ms = Math.min(SUSPENSION_MS.first * 2 ** record.suspensions, SUSPENSION_MS.max);
    record.suspendedUntil = now + ms;
    record.suspensions += 1;
  }

  /** @param publisher undefined if it is not known whose container has started */
  succeeded(runnerId: string, publisher: string | undefined, container: string): void {
    this.#records.delete(runnerId);
    if (publisher === undefined) return;
    if (this.#failing.get(publisher)?.containers.has(container)) this.#failing.delete(publisher);
  }

  /** Forgets the failures of a runner that an operator has resumed or removed. */
  reset(runnerId: string): void {
    this.#records.delete(runnerId);
  }

  of(runnerId: string): FailedInARow | undefined {
    const record = this.#records.get(runnerId);
    return record && { times: record.times, reason: record.reason, at: record.at };
  }

  suspended(now: number): Map<string, { until: number; reason: string }> {
    const all = [...this.#records].map(
      ([id, { suspendedUntil: until, reason }]) => [id, { until, reason }] as const,
    );
    return new Map(all.filter(([, { until }]) => until > now));
  }

  suspendedUntil(runnerId: string, now: number): number | null {
    const { suspendedUntil = 0 } = this.#records.get(runnerId) ?? {};
    return suspendedUntil > now ? suspendedUntil : null;
  }
}

const GOOD: StartRecord = {
  times: 0,
  reason: "",
  at: 0,
  counted: 0,
  suspensions: 0,
  suspendedUntil: 0,
};
