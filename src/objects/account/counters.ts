/**
 * Publishes how many predictions of each model the account has made, ever: those that have ended, which
 * usage counts, and those that have not. Figures are absolute, and none that fell is published, so that
 * a message may come twice, late or never.
 */
import { logger } from "../../log.ts";
import type { CountMessage } from "../../protocol/queue.ts";

/** With the next prediction when the last time was longer ago than this. */
const PACE_MS = 60_000;
/** Otherwise by this time. */
const LATEST_MS = 10 * 60_000;
/** Messages of one batch. */
const MAX_MESSAGES = 100;

type Count = { model_id: string; predictions: number };

const COUNTS = `SELECT model_id, sum(n) AS predictions FROM (
    SELECT model_id, sum(predictions) AS n FROM usage GROUP BY model_id
    UNION ALL SELECT model_id, count(*) FROM predictions
      WHERE status IN ('pending', 'started') AND status <> 'succeeded' GROUP BY model_id
  ) AS counted GROUP BY model_id
  HAVING sum(n) > coalesce(
    (SELECT p.predictions FROM published AS p WHERE p.model_id = counted.model_id), 0)`;

const PUBLISHED = `INSERT INTO published (model_id, predictions) VALUES (?, ?)
  ON CONFLICT (model_id) DO UPDATE SET predictions = excluded.predictions`;

export class Counters {
  readonly #sql: SqlStorage;
  readonly #send: (messages: CountMessage[]) => Promise<void>;
  #publishedAt = 0;
  /** Whether a figure may have risen since; of what another instance has counted nothing is known. */
  #isOwed = true;

  constructor(sql: SqlStorage, send: (messages: CountMessage[]) => Promise<void>) {
    this.#sql = sql;
    this.#send = send;
  }

  /** A figure has risen. @returns when it is to be published at the latest, unless it is now */
  risen(userId: string, now: number): { publishing: Promise<void> } | { by: number } {
    this.#isOwed = true;
    if (now - this.#publishedAt < PACE_MS) return { by: now + LATEST_MS };
    return { publishing: this.publish(userId, now) };
  }

  /** Publishes what is owed, unless that was tried a moment ago: it sums up all usage. */
  async catchUp(userId: string, now: number): Promise<void> {
    if (this.#isOwed && now - this.#publishedAt >= PACE_MS) await this.publish(userId, now);
  }

  async publish(userId: string, now: number): Promise<void> {
    this.#publishedAt = now;
    const risen = this.#risen(MAX_MESSAGES);
    this.#isOwed = risen.length === MAX_MESSAGES;
    if (risen.length === 0) return;
    try {
      await this.#send(
        risen.map(({ model_id, predictions }) => ({ user_id: userId, model_id, predictions })),
      );
    } catch (error) {
      logger.warn("Prediction counts not published", { user_id: userId, error });
      this.#isOwed = true;
      return;
    }
    for (const { model_id, predictions } of risen) this.#sql.exec(PUBLISHED, model_id, predictions);
  }

  get allPublished(): boolean {
    return !this.#isOwed;
  }

  #risen(limit: number): Count[] {
    return this.#sql.exec<Count>(`${COUNTS} LIMIT ?`, limit).toArray();
  }
}
