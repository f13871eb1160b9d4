/**
 * The latest webhook deliveries of all predictions of an account: those that arrived, and those that did not.
 */
import { and, eq, isNotNull, or, type SQL } from "drizzle-orm";
import type { DeliveryFilter, DeliveryRow } from "../../domain/webhooks/delivery-row.ts";
import { type Keyset, range } from "../../storage/keyset.ts";
import type { ListedDelivery } from "../stubs/account.ts";
import type { AccountDatabase } from "./prediction-lists.ts";
import { deliveries, predictions } from "./tables.ts";

/** The most deliveries that are listed of those that arrived, and of those that did not. */
const MOST = 500;
/** Old rows are deleted late, many at once: finding them reads all rows. */
const TRIM_INTERVAL = 50;

const COLUMNS = [
  "prediction_id",
  "sequence",
  "endpoint_id",
  "event",
  "at",
  "url",
  "state",
  "attempts",
  "status",
  "error",
  "next_at",
  "told_at",
] as const satisfies (keyof DeliveryRow)[];

const PUT = `INSERT INTO deliveries (${COLUMNS.join(", ")}) VALUES (${COLUMNS.map(() => "?").join(", ")})
  ON CONFLICT (prediction_id, sequence, endpoint_id) DO UPDATE SET state = excluded.state,
    attempts = excluded.attempts, status = excluded.status, error = excluded.error,
    next_at = excluded.next_at, told_at = excluded.told_at
  WHERE excluded.told_at >= deliveries.told_at`;

const ARRIVED = "state IN ('delivered', 'superseded')";

const trim = (which: string) => `DELETE FROM deliveries WHERE ${which}
  AND (prediction_id, sequence, endpoint_id) <= (
    SELECT prediction_id, sequence, endpoint_id FROM deliveries WHERE ${which}
    ORDER BY prediction_id DESC, sequence DESC, endpoint_id DESC LIMIT 1 OFFSET ${MOST})`;

export class Deliveries {
  readonly #sql: SqlStorage;
  readonly #db: AccountDatabase;
  #untilTrim = 0;

  constructor(sql: SqlStorage, db: AccountDatabase) {
    this.#sql = sql;
    this.#db = db;
  }

  /** Writes rows. A row that comes a second time, or late, changes nothing. */
  record(rows: DeliveryRow[]): void {
    for (const row of rows) this.#sql.exec(PUT, ...COLUMNS.map((name) => row[name]));
    this.#untilTrim -= rows.length;
    if (this.#untilTrim > 0) return;
    this.#untilTrim = TRIM_INTERVAL;
    for (const which of [ARRIVED, `NOT ${ARRIVED}`]) this.#sql.exec(trim(which));
  }

  /** Lists deliveries of the newest prediction first, and its latest event first. */
  list(filter: DeliveryFilter, keyset: Keyset): ListedDelivery[] {
    const { where, order, limit } = range(
      [deliveries.prediction_id, deliveries.sequence, deliveries.endpoint_id],
      "desc",
      keyset,
    );
    const { model_owner: owner, model_name: name, data_removed } = predictions;
    return this.#db
      .select({ delivery: deliveries, owner, name, data_removed })
      .from(deliveries)
      .leftJoin(predictions, eq(predictions.id, deliveries.prediction_id))
      .where(and(where, ...conditionsOf(filter)))
      .orderBy(...order)
      .limit(limit)
      .all();
  }
}

function conditionsOf({ which, endpoint_id, maker }: DeliveryFilter): (SQL | undefined)[] {
  return [
    endpoint_id === undefined ? undefined : eq(deliveries.endpoint_id, endpoint_id),
    which === undefined ? undefined : CONDITIONS[which],
    // Deliveries are at most 1,000, so they need no index by maker.
    maker === undefined ? undefined : eq(predictions.maker, maker),
  ];
}

/** A delivery that waits for its next try has failed, too. */
const CONDITIONS: Record<NonNullable<DeliveryFilter["which"]>, SQL | undefined> = {
  delivered: eq(deliveries.state, "delivered"),
  failed: or(
    eq(deliveries.state, "failed"),
    and(eq(deliveries.state, "pending"), isNotNull(deliveries.error)),
  ),
};
