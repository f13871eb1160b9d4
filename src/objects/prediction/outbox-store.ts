/**
 * The stored webhook events of a prediction, a row each. Only predictions with destinations have the
 * table: creating it costs 0.2 ms.
 */
import type { OutboxEvent } from "../../domain/webhooks/outbox.ts";

interface Row extends Record<string, SqlStorageValue> {
  body: string;
}

export class OutboxStore {
  readonly #sql: SqlStorage;
  #exists: boolean;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    const table = "SELECT 1 FROM sqlite_master WHERE name = 'webhook'";
    this.#exists = sql.exec(table).toArray().length > 0;
  }

  /** Ordered by sequence. */
  load(): OutboxEvent[] {
    if (!this.#exists) return [];
    const rows = this.#sql.exec<Row>("SELECT body FROM webhook ORDER BY sequence");
    return Array.from(rows, ({ body }) => JSON.parse(body));
  }

  save(changed: OutboxEvent[], dropped: number[]): void {
    if (changed.length > 0 && !this.#exists) {
      this.#sql.exec("CREATE TABLE webhook (sequence INTEGER PRIMARY KEY, body TEXT NOT NULL)");
      this.#exists = true;
    }
    for (const event of changed) {
      const row = "INSERT OR REPLACE INTO webhook VALUES (?, ?)";
      this.#sql.exec(row, event.sequence, JSON.stringify(event));
    }
    for (const sequence of dropped) {
      this.#sql.exec("DELETE FROM webhook WHERE sequence = ?", sequence);
    }
  }
}
