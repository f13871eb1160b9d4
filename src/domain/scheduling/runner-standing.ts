/**
 * How the runners of a pool conduct themselves. Who takes a job is to be heard at its prediction,
 * where it gets a receipt that comes with its next claim. Until then the job counts as unheard: a
 * runner has no more of these than slots. One that was not heard in time counts against it, and
 * after a few the runner is set aside, each time for longer.
 */

/** What nothing was said of for so long after its prediction must have spoken is forgotten. */
const LATE_MS = 10_000;
/** Misses that come together are one: a runner that dies may leave as many as it has slots. */
const TOGETHER_MS = 5_000;
/** A miss weighs more than being heard makes up for: who works now and then stays under suspicion. */
const MISS = 2;
const TOO_MUCH = 6;
const REST_MS = { first: 10_000, most: 600_000 };

interface Record {
  /** When each was handed out, unix ms, by its receipt. */
  unheard: Map<string, number>;
  weight: number;
  missedAt: number;
  /** How often it was set aside since it was last in good standing, and until when. */
  rests: number;
  until: number;
}

const blank = (): Omit<Record, "unheard"> => ({
  weight: 0,
  missedAt: Number.NEGATIVE_INFINITY,
  rests: 0,
  until: 0,
});

export class RunnerStanding {
  readonly #records = new Map<string, Record>();
  readonly #holders = new Map<string, string>();
  readonly #forgottenMs: number;

  /** @param connectSeconds how long a prediction waits for a runner */
  constructor(connectSeconds: number) {
    this.#forgottenMs = connectSeconds * 1000 + LATE_MS;
  }

  handed(runnerId: string, receipt: string, now: number): void {
    this.#of(runnerId).unheard.set(receipt, now);
    this.#holders.set(receipt, runnerId);
  }

  /** Receipts that a runner has brought; those that are not of its own say nothing. */
  heard(runnerId: string, receipts: readonly string[]): void {
    for (const receipt of receipts) {
      if (this.#holders.get(receipt) !== runnerId) continue;
      this.#settle(receipt);
      const record = this.#of(runnerId);
      record.weight = Math.max(0, record.weight - 1);
      if (record.weight === 0) record.rests = 0;
      this.#tidy(runnerId, record);
    }
  }

  /** Its prediction has waited for the runner in vain. @returns which one it was */
  missed(receipt: string, now: number): string | undefined {
    const runnerId = this.#settle(receipt);
    if (runnerId === undefined) return undefined;
    const record = this.#of(runnerId);
    if (now - record.missedAt < TOGETHER_MS) return runnerId;
    record.missedAt = now;
    record.weight += MISS;
    if (record.weight < TOO_MUCH) return runnerId;
    // The next one is enough.
    record.weight = TOO_MUCH - MISS;
    record.until = now + Math.min(REST_MS.first * 2 ** record.rests, REST_MS.most);
    record.rests += 1;
    return runnerId;
  }

  /** It is not wanted any more, and that is not the runner's fault. @returns which one it was */
  excused(receipt: string): string | undefined {
    return this.#settle(receipt);
  }

  /** An operator says that it is all right, or takes it away: nothing is held against it any more. */
  pardon(runnerId: string): void {
    const record = this.#records.get(runnerId);
    if (!record) return;
    Object.assign(record, blank());
    this.#tidy(runnerId, record);
  }

  /** Who was given it, as long as it is unheard. */
  holder(receipt: string): string | undefined {
    return this.#holders.get(receipt);
  }

  /** How many jobs a runner has taken at whose predictions it was not heard yet. */
  unheard(runnerId: string, now: number): number {
    const { unheard } = this.#records.get(runnerId) ?? {};
    if (!unheard) return 0;
    for (const [receipt, at] of unheard) if (now - at > this.#forgottenMs) this.#settle(receipt);
    return unheard.size;
  }

  /** Until when a runner is set aside, unix ms; null when it is not. */
  asideUntil(runnerId: string, now: number): number | null {
    const { until = 0 } = this.#records.get(runnerId) ?? {};
    return until > now ? until : null;
  }

  /** Those that are set aside, and until when. */
  aside(now: number): Map<string, number> {
    const all = [...this.#records].map(([id, { until }]) => [id, until] as const);
    return new Map(all.filter(([, until]) => until > now));
  }

  #settle(receipt: string): string | undefined {
    const runnerId = this.#holders.get(receipt);
    this.#holders.delete(receipt);
    if (runnerId === undefined) return undefined;
    const record = this.#of(runnerId);
    record.unheard.delete(receipt);
    this.#tidy(runnerId, record);
    return runnerId;
  }

  #of(runnerId: string): Record {
    let record = this.#records.get(runnerId);
    if (!record) {
      record = { unheard: new Map(), ...blank() };
      this.#records.set(runnerId, record);
    }
    return record;
  }

  /** Of one in good standing there is nothing to be kept. */
  #tidy(runnerId: string, { unheard, weight, until }: Record): void {
    if (unheard.size === 0 && weight === 0 && until === 0) this.#records.delete(runnerId);
  }
}
