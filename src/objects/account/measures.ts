/**
 * Sends the measures of the account's predictions (domain/metrics/measures.ts) to the metrics object, as far as they
 * have risen since the last batch that was acknowledged. Usage has the sums, so nothing is stored for a prediction.
 */
import { z } from "zod";
import {
  isEmpty,
  type Measures,
  measures,
  measuresIn,
  riseOf,
  summed,
} from "../../domain/metrics/measures.ts";
import type { NumberedBatch } from "../stubs/metrics.ts";

/** The sums that were acknowledged last: those of the days from `from` on, by version and hardware. */
const sentSchema = z.object({
  sequence: z.number(),
  from: z.string(),
  sums: z.record(z.string(), measures),
});
type Sent = z.infer<typeof sentSchema>;

const SENT = "measures_sent";
const NOTHING: Sent = { sequence: 0, from: "", sums: {} };

/** A value of the object has at most 2 MB, and the measures of a version 2 KB. */
const MAX_ROWS = 800;

interface Summed {
  labels: { model: string; version: string; hardware: string };
  counts: Measures;
}

type StoredRow = {
  model_id: string;
  model: string;
  version_number: number;
  hardware: string;
  day: string;
  measures: string;
};

export class SentMeasures {
  readonly #sql: SqlStorage;
  readonly #kv: SyncKvStorage;
  readonly #writer: string;
  readonly #send: (batch: NumberedBatch) => Promise<void>;
  #publishing: Promise<void> | undefined;

  /** @param send resolves when the batch has arrived */
  constructor(
    { sql, kv }: Pick<DurableObjectStorage, "sql" | "kv">,
    writer: string,
    send: (batch: NumberedBatch) => Promise<void>,
  ) {
    this.#sql = sql;
    this.#kv = kv;
    this.#writer = writer;
    this.#send = send;
  }

  /**
   * A call during another one shares its result: of two batches at once, an earlier acknowledgement could replace a
   * later one, and what is between them would count twice.
   * @param openFrom the first day whose usage may still rise
   */
  publish(openFrom: string): Promise<void> {
    this.#publishing ??= this.#publish(openFrom).finally(() => {
      this.#publishing = undefined;
    });
    return this.#publishing;
  }

  async #publish(openFrom: string): Promise<void> {
    const sent = sentSchema.parse(this.#kv.get(SENT) ?? NOTHING);
    const sums = this.#sums(sent.from);
    const rows = [...sums].flatMap(([key, { labels, counts }]) => {
      const rise = riseOf(sent.sums[key] ?? {}, counts);
      return isEmpty(rise) ? [] : [{ family: "predictions" as const, labels, counts: rise }];
    });
    if (rows.length === 0) return;
    const sequence = sent.sequence + 1;
    const open = openFrom > sent.from ? this.#sums(openFrom) : sums;
    await this.#send({ writer: this.#writer, sequence, rows });
    this.#kv.put(SENT, {
      sequence,
      from: openFrom,
      sums: Object.fromEntries([...open].map(([key, { counts }]) => [key, counts])),
    } satisfies Sent);
  }

  /** Sums by version and hardware. Versions beyond the first are summed as one. */
  #sums(from: string): Map<string, Summed> {
    const sums = new Map<string, Summed>();
    const statement = `SELECT model_id, model, version_number, hardware, day, measures FROM usage
      WHERE day >= ? AND measures <> '{}' ORDER BY day`;
    for (const row of this.#sql.exec<StoredRow>(statement, from)) {
      const { model_id, model, version_number, hardware } = row;
      const own = JSON.stringify([model_id, version_number, hardware]);
      const isOwn = sums.has(own) || sums.size < MAX_ROWS;
      const key = isOwn ? own : "other";
      const counts = summed(sums.get(key)?.counts ?? {}, measuresIn(row.measures));
      const labels = isOwn
        ? { model, version: String(version_number), hardware }
        : { model: "other", version: "other", hardware: "other" };
      sums.set(key, { labels, counts });
    }
    return sums;
  }
}
