/**
 * Publishes the usage of days that are open, and how many predictions of each model the account has made, ever:
 * those that have ended, which usage counts, and those that have not. Figures are absolute, and none that fell is published, so that
 * a message may come twice, late or never. Days that are over are summed up once, so that usage of years
 * need not be read every minute, nor be kept.
 */

import { SUMS, type UsageCount } from "../../domain/accounts/usage.ts";
import {
  type BucketState,
  WriteBucket,
  type WriteCost,
  type WriteRates,
} from "../../domain/accounts/write-bucket.ts";
import { logger } from "../../log.ts";
import type { AccountMessage } from "../../protocol/queue.ts";

/** Figures are published at most once in this time, and at the latest this long after a prediction. */
const PUBLISH_MS = 60_000;
const DAY_MS = 86_400_000;
/** A batch of the queue has 100 messages. */
const MAX_DAYS = 5;
const MAX_MESSAGES = 100 - MAX_DAYS;

type DaySums = UsageCount & { day: string };
type Count = { model_id: string; predictions: number };

/** Days whose usage is open: an end is reported within minutes, unless its object was down. */
const OPEN_DAYS = 2;
/** The first day whose usage is not summed up yet. */
const OPEN_FROM = "open_from";
/** Kept in storage: an account that is called four times a minute is another instance each time. */
const PUBLISHED_AT = "published_at";

const CLOSE = `INSERT INTO counts (model_id, closed, published)
  SELECT model_id, sum(predictions), 0 FROM usage WHERE day >= ? AND day < ? GROUP BY model_id
  ON CONFLICT (model_id) DO UPDATE SET closed = closed + excluded.closed`;

const RISEN = `SELECT model_id, sum(n) AS predictions FROM (
    SELECT model_id, closed AS n FROM counts
    UNION ALL SELECT model_id, sum(predictions) AS n FROM usage WHERE day >= ? GROUP BY model_id
    UNION ALL SELECT model_id, count(*) FROM predictions
      WHERE status IN ('pending', 'started') AND status <> 'succeeded' GROUP BY model_id
  ) AS counted GROUP BY model_id
  HAVING sum(n) > coalesce(
    (SELECT c.published FROM counts AS c WHERE c.model_id = counted.model_id), 0) LIMIT ?`;

/** The sums of each day that is open, as they were last published: JSON texts by day. */
const PUBLISHED_DAYS = "published_days";

const OPEN_USAGE = `SELECT day, ${SUMS.map((name) => `total(${name}) AS ${name}`)} FROM usage
  WHERE day >= ? GROUP BY day ORDER BY day DESC LIMIT ${MAX_DAYS}`;

const PUBLISHED = `INSERT INTO counts (model_id, closed, published) VALUES (?, 0, ?)
  ON CONFLICT (model_id) DO UPDATE SET published = excluded.published`;

const textsOf = (days: DaySums[]) =>
  Object.fromEntries(days.map((sums) => [sums.day, JSON.stringify(sums)]));

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/**
 * Sends the messages, which may be none, and what has no messages.
 * @param openFrom the first day whose usage is not summed up
 */
type Send = (messages: AccountMessage[], openFrom: string) => Promise<void>;

export class Counters {
  readonly #sql: SqlStorage;
  readonly #kv: SyncKvStorage;
  readonly #keptMs: number;
  readonly #send: Send;
  #publishedAt: number;
  /** Whether a figure may have risen since. Nothing is known of what another instance has counted. */
  #isOwed = true;
  #openFrom: string;

  /** @param keptSeconds how long usage is kept */
  constructor(
    { sql, kv }: Pick<DurableObjectStorage, "sql" | "kv">,
    keptSeconds: number,
    send: Send,
  ) {
    this.#sql = sql;
    this.#kv = kv;
    this.#keptMs = keptSeconds * 1_000;
    this.#send = send;
    this.#openFrom = kv.get<string>(OPEN_FROM) ?? "";
    this.#publishedAt = kv.get<number>(PUBLISHED_AT) ?? 0;
  }

  /**
   * Notes an end, whose usage is published with the next figure, or by the alarm: the row of a prediction that
   * has begun has set one, which goes off within 5 minutes (LOOK_MS).
   * @returns the day that it counts on: an end that is reported much too late counts on the first open day
   */
  usageDay(endedAt: number): string {
    this.#isOwed = true;
    const day = dayOf(endedAt);
    return day < this.#openFrom ? this.#openFrom : day;
  }

  /** Opens usage from this day on: earlier days are summed up already. */
  openFrom(day: string): void {
    this.#kv.put(OPEN_FROM, day);
    this.#openFrom = day;
  }

  /**
   * Lowers a figure: a counted prediction was never made. The figure is published when it is as high again.
   */
  fallen(modelId: string): void {
    this.#sql.exec("UPDATE counts SET published = published - 1 WHERE model_id = ?", modelId);
  }

  /** Notes that something else is to be published with the next figure. */
  owe(): void {
    this.#isOwed = true;
  }

  /**
   * Notes that a figure has risen.
   * @returns when it is to be published at the latest, unless it is now
   */
  risen(userId: string, now: number): { publishing: Promise<void> } | { by: number } {
    this.#isOwed = true;
    const by = this.#publishedAt + PUBLISH_MS;
    if (now < by) return { by };
    return { publishing: this.publish(userId, now) };
  }

  /** Publishes figures that are owed, unless that was tried a moment ago: it sums up all usage. */
  async catchUp(userId: string, now: number): Promise<void> {
    if (this.#isOwed && now - this.#publishedAt >= PUBLISH_MS) await this.publish(userId, now);
  }

  async publish(userId: string, now: number): Promise<void> {
    this.#publishedAt = now;
    this.#closeDays(now);
    const risen = this.#risen(MAX_MESSAGES);
    this.#isOwed = risen.length === MAX_MESSAGES;
    const days = this.#changedDays();
    if (risen.length > 0 || days.length > 0) this.#kv.put(PUBLISHED_AT, now);
    try {
      await this.#send(
        [
          ...risen.map(({ model_id, predictions }) => ({ user_id: userId, model_id, predictions })),
          ...days.map((sums) => ({ user_id: userId, ...sums, told_at: now })),
        ],
        this.#openFrom,
      );
    } catch (error) {
      logger.warn("Prediction counts not published", { user_id: userId, error });
      this.#isOwed = true;
      return;
    }
    for (const { model_id, predictions } of risen) this.#sql.exec(PUBLISHED, model_id, predictions);
    if (days.length > 0) this.#kv.put(PUBLISHED_DAYS, { ...this.#openDays(), ...textsOf(days) });
  }

  get allPublished(): boolean {
    return !this.#isOwed;
  }

  #closeDays(now: number): void {
    const openFrom = dayOf(now - OPEN_DAYS * DAY_MS);
    if (openFrom <= this.#openFrom) return;
    this.#sql.exec(CLOSE, this.#openFrom, openFrom);
    this.#sql.exec("DELETE FROM usage WHERE day < ?", dayOf(now - this.#keptMs));
    this.openFrom(openFrom);
  }

  /** The open days whose sums have changed since they were published. */
  #changedDays(): DaySums[] {
    const published = this.#openDays();
    const days = this.#sql.exec<DaySums>(OPEN_USAGE, this.#openFrom).toArray();
    return days.filter((sums) => published[sums.day] !== JSON.stringify(sums));
  }

  #openDays(): Record<string, string> {
    const days = this.#kv.get<Record<string, string>>(PUBLISHED_DAYS) ?? {};
    return Object.fromEntries(Object.entries(days).filter(([day]) => day >= this.#openFrom));
  }

  #risen(limit: number): Count[] {
    return this.#sql.exec<Count>(RISEN, this.#openFrom, limit).toArray();
  }
}

/**
 * The account's bucket of rows and bytes that it may write to D1 and R2 (domain/accounts/write-bucket.ts).
 */

const NAME = "writes";
/**
 * The share of the bucket that may change before it is stored: a row for each charge would cost more than it
 * saves.
 */
const STORED_CHANGE = 0.1;

export class Writes {
  readonly #kv: SyncKvStorage;
  readonly #bucket: WriteBucket;
  /** The bucket as it was stored last, or begun: an object that restarts forgets a tenth of a bucket. */
  #stored: BucketState;

  constructor(kv: SyncKvStorage, rates: WriteRates) {
    this.#kv = kv;
    this.#bucket = new WriteBucket(rates, kv.get<BucketState>(NAME));
    this.#stored = this.#bucket.state;
  }

  /** Charges a cost like `WriteBucket.take`. */
  take(cost: WriteCost, now: number): number {
    const wait = this.#bucket.take(cost, now);
    this.#store();
    return wait;
  }

  settle(difference: WriteCost, now: number): void {
    this.#bucket.settle(difference, now);
    this.#store();
  }

  #store(): void {
    const { state } = this.#bucket;
    if (this.#bucket.changeSince(this.#stored) < STORED_CHANGE) return;
    this.#kv.put(NAME, state);
    this.#stored = state;
  }
}
