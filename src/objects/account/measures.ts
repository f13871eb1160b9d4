/**
 * Sends the measures of the account's predictions (domain/metrics/measures.ts) to the metrics object, as far as they
 * have risen since the last batch that was acknowledged, with the present levels of the account. Usage has the sums,
 * so nothing is stored for a prediction.
 */
import { z } from "zod";
import { type Levels, levels } from "../../domain/metrics/levels.ts";
import {
  isEmpty,
  type Measures,
  measures,
  measuresIn,
  riseOf,
  summed,
} from "../../domain/metrics/measures.ts";
import { type CountedRow, countedRows, type NumberedBatch } from "../stubs/metrics.ts";

/** The last batch, which may not have arrived, and the sums up to it: those of the days from `from` on. */
const sentSchema = z.object({
  sequence: z.number(),
  from: z.string(),
  sums: z.record(z.string(), measures),
  rows: countedRows,
  levels: levels.nullable(),
});
type Sent = z.infer<typeof sentSchema>;

const SENT = "measures_sent";
const NOTHING: Sent = { sequence: 0, from: "", sums: {}, rows: [], levels: null };

/** Figures of the account that are not in its usage. */
interface Present {
  /** How many webhook deliveries have ended in each state. */
  deliveries: Measures;
  levels: Levels | null;
}

/** A value of the object has at most 2 MB, and the measures of a version 2 KB, twice. */
const MAX_VERSIONS = 400;
const OTHER = "other";
const DELIVERIES = "deliveries";

type StoredRow = {
  model_id: string;
  model: string;
  version_number: number;
  hardware: string;
  day: string;
  measures: string;
};

interface Sums {
  labels: CountedRow["labels"];
  /** The sums of all days that are read, and of those that may still rise. */
  counts: Measures;
  open: Measures;
}

export class SentMeasures {
  readonly #sql: SqlStorage;
  readonly #kv: SyncKvStorage;
  readonly #writer: string;
  readonly #send: (batch: NumberedBatch) => Promise<void>;
  #publishing: Promise<void> | undefined;
  /** The number of the last batch whose answer this instance has seen. */
  #answered = 0;

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

  /** How many webhook deliveries have ended in each state, up to the last batch. */
  get deliveries(): Measures {
    return this.#sent.sums[DELIVERIES] ?? {};
  }

  get #sent(): Sent {
    return sentSchema.parse(this.#kv.get(SENT) ?? NOTHING);
  }

  /**
   * A call during another one shares its result: of two batches at once, an earlier acknowledgement could replace a
   * later one, and what is between them would count twice.
   * @param openFrom the first day whose usage may still rise
   */
  publish(openFrom: string, present: Present = { deliveries: {}, levels: null }): Promise<void> {
    this.#publishing ??= this.#publish(openFrom, present).finally(() => {
      this.#publishing = undefined;
    });
    return this.#publishing;
  }

  async #publish(openFrom: string, { deliveries, levels }: Present): Promise<void> {
    const sent = this.#sent;
    // The batch goes again as it was: a model that was renamed since would count under both names.
    if (sent.sequence > this.#answered) await this.#deliver(sent);
    const sums = this.#sums(sent, openFrom);
    const rows = [...sums].flatMap(([key, { labels, counts }]): CountedRow[] => {
      const rise = riseOf(sent.sums[key] ?? {}, counts);
      return isEmpty(rise) ? [] : [{ family: "predictions", labels, counts: rise }];
    });
    const ended = riseOf(this.deliveries, deliveries);
    if (!isEmpty(ended)) rows.push({ family: DELIVERIES, labels: {}, counts: ended });
    const isSame = JSON.stringify(levels) === JSON.stringify(sent.levels);
    if (rows.length === 0 && isSame) return;
    const open = [...sums].filter(([, one]) => !isEmpty(one.open));
    const next: Sent = {
      sequence: sent.sequence + 1,
      from: openFrom,
      sums: {
        ...Object.fromEntries(open.map(([key, one]) => [key, one.open])),
        ...(isEmpty(deliveries) ? {} : { [DELIVERIES]: deliveries }),
      },
      rows,
      levels,
    };
    this.#kv.put(SENT, next);
    await this.#deliver(next);
  }

  async #deliver({ sequence, rows, levels }: Sent): Promise<void> {
    await this.#send({ writer: this.#writer, sequence, rows, levels });
    this.#answered = sequence;
  }

  /**
   * Returns sums by version and hardware. Versions beyond the first are summed as one, and so are all new ones
   * while that sum has open days: a version that left it would count again.
   */
  #sums(sent: Sent, openFrom: string): Map<string, Sums> {
    const sums = new Map<string, Sums>();
    const known = Object.keys(sent.sums).length;
    let added = 0;
    const statement = `SELECT model_id, model, version_number, hardware, day, measures FROM usage
      WHERE day >= ? AND measures <> '{}' ORDER BY day`;
    for (const row of this.#sql.exec<StoredRow>(statement, sent.from)) {
      const { model_id, model, version_number, hardware } = row;
      const own = JSON.stringify([model_id, version_number, hardware]);
      const isKnown = own in sent.sums || sums.has(own);
      const isAdded = !isKnown && !(OTHER in sent.sums) && known + added < MAX_VERSIONS;
      if (isAdded) added += 1;
      const isOwn = isKnown || isAdded;
      const key = isOwn ? own : OTHER;
      const { counts = {}, open = {} } = sums.get(key) ?? {};
      const more = measuresIn(row.measures);
      sums.set(key, {
        labels: isOwn
          ? { model, version: String(version_number), hardware }
          : { model: OTHER, version: OTHER, hardware: OTHER },
        counts: summed(counts, more),
        open: row.day < openFrom ? open : summed(open, more),
      });
    }
    return sums;
  }
}
