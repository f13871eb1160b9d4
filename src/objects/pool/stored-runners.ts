/**
 * The last reports of runners, as rows: a pool that starts again knows of full runners, which do not poll.
 * Rows are written every 30 s at most, since each is billed: runners soon correct older ones.
 */
import { logger } from "../../log.ts";
import { PoolRunner, storedRunner } from "./pool-runner.ts";

interface Row extends Record<string, SqlStorageValue> {
  stored: string;
}

/** A row may have 2 MB: a larger runner is not worth it. */
const MAX_CHARS = 500_000;
/**
 * The most characters that a pool loads: with very many large runners it must be able to start. The latest
 * are taken.
 */
const MAX_LOADED_CHARS = 16_000_000;

export class StoredRunners {
  readonly #sql: SqlStorage;
  readonly #changed = new Map<string, PoolRunner>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(
      `CREATE TABLE IF NOT EXISTS runners (
         runner_id TEXT PRIMARY KEY,
         reported_at INTEGER NOT NULL,
         stored TEXT NOT NULL
       )`,
    );
  }

  /** Returns the runners that were heard since then; the others are forgotten. */
  load(since: number): PoolRunner[] {
    this.#sql.exec("DELETE FROM runners WHERE reported_at < ?", since);
    const runners: PoolRunner[] = [];
    let left = MAX_LOADED_CHARS;
    for (const { stored } of this.#sql.exec<Row>(
      "SELECT stored FROM runners ORDER BY reported_at DESC",
    )) {
      left -= stored.length;
      if (left < 0) break;
      const runner = restored(stored);
      if (runner) runners.push(runner);
    }
    return runners;
  }

  put(runner: PoolRunner): void {
    this.#changed.set(runner.id, runner);
  }

  delete(runnerId: string): void {
    this.#changed.delete(runnerId);
    this.#sql.exec("DELETE FROM runners WHERE runner_id = ?", runnerId);
  }

  /** Writes the runners that have reported since the last time. */
  save(): void {
    for (const { id, lastSeenAt, stored } of this.#changed.values()) {
      const text = JSON.stringify(stored);
      if (text === undefined || text.length > MAX_CHARS) continue;
      this.#sql.exec(
        "INSERT OR REPLACE INTO runners (runner_id, reported_at, stored) VALUES (?, ?, ?)",
        id,
        lastSeenAt,
        text,
      );
    }
    this.#changed.clear();
  }
}

/**
 * Returns undefined for a row that cannot be read, which would keep the pool from starting. The runner soon
 * reports again.
 */
function restored(text: string): PoolRunner | undefined {
  try {
    return PoolRunner.restore(storedRunner.parse(JSON.parse(text)));
  } catch (error) {
    logger.warn("Runner not restored", { error });
    return undefined;
  }
}
