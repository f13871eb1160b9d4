/**
 * The latest webhook deliveries of all predictions of an account: those that arrived, and those that did not.
 */
import { and, eq, isNotNull, or, type SQL } from "drizzle-orm";
import { type Measures, measuresIn } from "../../domain/metrics/measures.ts";
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

/** `totals` is how many deliveries had ended in each state, with that of the row. */
const PUT = `INSERT INTO deliveries (${[...COLUMNS, "totals"]}) VALUES (${[...COLUMNS, "totals"].map(() => "?")})
  ON CONFLICT (prediction_id, sequence, endpoint_id) DO UPDATE SET state = excluded.state,
    attempts = excluded.attempts, status = excluded.status, error = excluded.error,
    next_at = excluded.next_at, told_at = excluded.told_at, totals = coalesce(excluded.totals, totals)
  WHERE excluded.told_at >= deliveries.told_at`;

const BEFORE = `SELECT state, attempts, told_at FROM deliveries
  WHERE prediction_id = ? AND sequence = ? AND endpoint_id = ?`;

const ARRIVED = "state IN ('delivered', 'superseded')";

const trim = (which: string) => `DELETE FROM deliveries WHERE ${which}
  AND (prediction_id, sequence, endpoint_id) <= (
    SELECT prediction_id, sequence, endpoint_id FROM deliveries WHERE ${which}
    ORDER BY prediction_id DESC, sequence DESC, endpoint_id DESC LIMIT 1 OFFSET ${MOST})`;

export class Deliveries {
  readonly #sql: SqlStorage;
  readonly #db: AccountDatabase;
  readonly #published: () => Measures;
  #untilTrim = 0;
  #totals: Measures | undefined;

  /** @param published the totals that were published last: the rows with the highest may be deleted */
  constructor(sql: SqlStorage, db: AccountDatabase, published: () => Measures) {
    this.#sql = sql;
    this.#db = db;
    this.#published = published;
  }

  /** How many deliveries have ended in each state, ever. */
  get totals(): Measures {
    this.#totals ??= this.#sql
      .exec<{ totals: string }>("SELECT totals FROM deliveries WHERE totals IS NOT NULL")
      .toArray()
      .map(({ totals }) => measuresIn(totals))
      .reduce(highest, this.#published());
    return this.#totals;
  }

  /**
   * Writes rows. A row that comes a second time, or late, changes nothing.
   * @returns whether a delivery has ended
   */
  record(rows: DeliveryRow[]): boolean {
    const before = this.totals;
    for (const row of rows) {
      const hasEnded = this.#hasEnded(row);
      if (hasEnded)
        this.#totals = { ...this.totals, [row.state]: (this.totals[row.state] ?? 0) + 1 };
      const totals = hasEnded ? JSON.stringify(this.totals) : null;
      this.#sql.exec(PUT, ...COLUMNS.map((name) => row[name]), totals);
    }
    this.#trim(rows.length);
    return this.totals !== before;
  }

  /** Whether the row is the first with an end. Of `output` events, only those in trouble have rows. */
  #hasEnded({ prediction_id, sequence, endpoint_id, ...row }: DeliveryRow): boolean {
    if (row.state === "pending" || row.event === "output") return false;
    const [before] = this.#sql
      .exec<{ state: string; attempts: number; told_at: number }>(
        BEFORE,
        ...[prediction_id, sequence, endpoint_id],
      )
      .toArray();
    if (!before) return true;
    const isSame = before.state === row.state && before.attempts === row.attempts;
    return !isSame && row.told_at >= before.told_at;
  }

  #trim(added: number): void {
    this.#untilTrim -= added;
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

const highest = (a: Measures, b: Measures): Measures => ({
  ...a,
  ...Object.fromEntries(
    Object.entries(b).map(([name, value]) => [name, Math.max(value, a[name] ?? 0)]),
  ),
});

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
