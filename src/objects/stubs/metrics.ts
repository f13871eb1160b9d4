/** The only way to the metrics object, of which a deployment has one. */
import { z } from "zod";
import type { Levels } from "../../domain/metrics/levels.ts";
import { measures } from "../../domain/metrics/measures.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { bounded } from "./bounded.ts";
import { inJurisdiction } from "./jurisdiction.ts";

/**
 * Counts of one set of labels. Families: `predictions` (model, version, hardware; domain/metrics/measures.ts),
 * `pool` (pool; by event), `requests` (route; by status) and `deliveries` (by state).
 */
const countedRow = z.object({
  family: z.enum(["predictions", "pool", "requests", "deliveries"]),
  labels: z.record(z.string(), z.string()),
  counts: measures,
});
export const countedRows = z.array(countedRow);
export type CountedRow = z.infer<typeof countedRow>;

/**
 * Counts of a writer that sends them again, unchanged, when it does not know whether they have arrived. The next
 * number comes after an answer only.
 */
export interface NumberedBatch {
  writer: string;
  sequence: number;
  rows: CountedRow[];
  /** The levels replace those of the batch before. */
  levels: Levels | null;
}

export const metricsObject = (env: Bindings) =>
  bounded(() => inJurisdiction(env, env.METRICS).getByName("metrics"), {
    repeatable: [
      "addBatch",
      "exposition",
      "history",
      "gpuHistory",
      "outcomes",
      "watched",
      "status",
    ],
  });

/** Counts are sent this long after the first of them. */
const SEND_MS = 20_000;

/** Counts in memory what an isolate or an object sees. What it has not sent when it dies is lost. */
export class Counts {
  readonly #env: Bindings;
  readonly #rows = new Map<string, CountedRow>();
  #since: number | null = null;

  constructor(env: Bindings) {
    this.#env = env;
  }

  /** @param waitUntil keeps the isolate until the counts are sent */
  add(
    family: CountedRow["family"],
    labels: CountedRow["labels"],
    name: string,
    count: number,
    waitUntil: (sending: Promise<void>) => void,
  ): void {
    const key = JSON.stringify([family, labels]);
    const { counts = {} } = this.#rows.get(key) ?? {};
    this.#rows.set(key, {
      family,
      labels,
      counts: { ...counts, [name]: (counts[name] ?? 0) + count },
    });
    const now = Date.now();
    if (this.#since === null) {
      this.#since = now;
      waitUntil(scheduler.wait(SEND_MS).then(() => this.#send()));
    } else if (now - this.#since >= SEND_MS) waitUntil(this.#send());
  }

  async #send(): Promise<void> {
    const rows = [...this.#rows.values()];
    if (rows.length === 0) return;
    this.#rows.clear();
    this.#since = null;
    await metricsObject(this.#env)
      .add(rows)
      // The counts may have arrived: sent again, they might count twice.
      .catch((error) => logger.warn("Metrics not counted", { count: rows.length, error }));
  }
}
