/** The stored waiting jobs, which alone survive the eviction of a pool. */
import type { WaitingJob } from "../../protocol/queue.ts";

interface Row extends Omit<WaitingJob, "warm_up">, Record<string, SqlStorageValue> {
  warm_up: number | null;
  since: number;
}

const COLUMNS =
  "object_id, user_id, pool, hardware, gpus, priority, model, model_id, model_owner_id, image, container_key, max_concurrency, run_limit_ms, warm_up" as const;

interface QueueEntry extends Record<string, SqlStorageValue> {
  offered_attempt: number | null;
  since: number;
}

/** How many jobs of a class and priority wait, and since when the first of them does, unix ms. */
export interface WaitingCount extends Record<string, SqlStorageValue> {
  hardware: string;
  priority: string;
  count: number;
  since: number;
}

export class WaitingJobs {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(
      `CREATE TABLE IF NOT EXISTS waiting (
         seq INTEGER PRIMARY KEY AUTOINCREMENT,
         object_id TEXT NOT NULL UNIQUE,
         user_id TEXT NOT NULL,
         pool TEXT NOT NULL,
         hardware TEXT NOT NULL,
         gpus INTEGER NOT NULL,
         priority TEXT NOT NULL,
         model TEXT NOT NULL,
         model_id TEXT NOT NULL,
         model_owner_id TEXT NOT NULL,
         image TEXT NOT NULL,
         container_key TEXT NOT NULL,
         max_concurrency INTEGER NOT NULL,
         run_limit_ms INTEGER NOT NULL,
         warm_up INTEGER,
         offered_attempt INTEGER,
         since INTEGER NOT NULL
       )`,
    );
  }

  all(): { job: WaitingJob; since: number }[] {
    return this.#sql
      .exec<Row>(`SELECT ${COLUMNS}, since FROM waiting ORDER BY since, seq`)
      .toArray()
      .map(({ since, warm_up, ...job }) => ({
        job: warm_up === null ? job : { ...job, warm_up: true as const },
        since,
      }));
  }

  /**
   * @param since when the job arrived, unix ms
   * @param unplaced the attempt that was offered for the job and not handed out
   */
  add(job: WaitingJob, since: number, offered_attempt: number | undefined): void {
    this.#sql.exec(
      `INSERT INTO waiting (${COLUMNS}, offered_attempt, since)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (object_id) DO UPDATE SET offered_attempt = excluded.offered_attempt`,
      job.object_id,
      job.user_id,
      job.pool,
      job.hardware,
      job.gpus,
      job.priority,
      job.model,
      job.model_id,
      job.model_owner_id,
      job.image,
      job.container_key,
      job.max_concurrency,
      job.run_limit_ms,
      job.warm_up ? 1 : null,
      offered_attempt ?? null,
      since,
    );
  }

  /** The attempt that was offered for a job and not handed out, and when the job arrived, unix ms. */
  find(objectId: string): QueueEntry | undefined {
    return this.#entry("SELECT offered_attempt, since FROM waiting WHERE object_id = ?", objectId);
  }

  /**
   * The entry of the job that arrived first.
   * @param hardware of this class; by default of any
   */
  oldest(hardware?: string): QueueEntry | undefined {
    const ofClass = hardware === undefined ? "" : "WHERE hardware = ?";
    const values = hardware === undefined ? [] : [hardware];
    return this.#entry(
      `SELECT offered_attempt, since FROM waiting ${ofClass} ORDER BY seq LIMIT 1`,
      ...values,
    );
  }

  counts(): WaitingCount[] {
    return this.#sql
      .exec<WaitingCount>(
        `SELECT hardware, priority, count(*) AS count, min(since) AS since FROM waiting
         GROUP BY hardware, priority`,
      )
      .toArray();
  }

  remove(objectId: string): void {
    this.#sql.exec("DELETE FROM waiting WHERE object_id = ?", objectId);
  }

  #entry(query: string, ...values: string[]): QueueEntry | undefined {
    const [row] = this.#sql.exec<QueueEntry>(query, ...values);
    return row;
  }
}

/**
 * How long the last 100 jobs of each class waited in the queue, in memory. Jobs of the express lane never
 * wait: their zeros would hide the others.
 */
const MAX_TIMES = 100;

export class WaitTimes {
  readonly #ms = new Map<string, number[]>();

  add(hardware: string, ms: number): void {
    const times = this.#ms.get(hardware) ?? [];
    times.push(ms);
    if (times.length > MAX_TIMES) times.shift();
    this.#ms.set(hardware, times);
  }

  /**
   * The median wait; null when there were none since the pool woke up.
   * @param hardware by default of all classes
   */
  medianMs(hardware?: string): number | null {
    const times = hardware === undefined ? [...this.#ms.values()].flat() : this.#ms.get(hardware);
    const sorted = (times ?? []).toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? null;
  }
}
