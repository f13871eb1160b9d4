/**
 * The metrics object: the counters of the deployment, which writers add to in batches, and the text of
 * `GET /metrics`. A row is stored in the same step as its batch is acknowledged, so no counter goes back, and
 * none counts a numbered batch twice.
 */
import { DurableObject } from "cloudflare:workers";
import { z } from "zod";
import type { Outcomes } from "../../domain/alerts/deployment.ts";
import { budgetGauge, gaugesOf } from "../../domain/metrics/gauges.ts";
import { type GpuPoint, gpuMeasures, gpuPointsOf } from "../../domain/metrics/gpus.ts";
import {
  boundariesOf,
  type Point,
  pointsOf,
  SAMPLE_MS,
  SAMPLES_MS,
  type Span,
  type SumsAt,
  THINNED,
} from "../../domain/metrics/history.ts";
import { isImportant, type Levels, levels, levelsAt } from "../../domain/metrics/levels.ts";
import {
  failuresIn,
  isEmpty,
  type Measures,
  measuresIn,
  riseOf,
  summed,
} from "../../domain/metrics/measures.ts";
import { type CountedSeries, countersOf } from "../../domain/metrics/series.ts";
import { type Bindings, settings } from "../../env.ts";
import { expositionOf, limited } from "../../lib/openmetrics.ts";
import type { StatusReport } from "../../protocol/status.ts";
import type { CountedRow, NumberedBatch } from "../stubs/metrics.ts";
import { readBudgets } from "./budgets.ts";
import { readPools } from "./pools.ts";
import { readStatus } from "./status.ts";

const CREATE = `
CREATE TABLE IF NOT EXISTS series (
  family TEXT NOT NULL, labels TEXT NOT NULL, counts TEXT NOT NULL, updated_at INTEGER NOT NULL,
  PRIMARY KEY (family, labels)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS writers (
  id TEXT PRIMARY KEY, sequence INTEGER NOT NULL, at INTEGER NOT NULL, levels TEXT NOT NULL,
  place INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS writers_at ON writers (at);
CREATE INDEX IF NOT EXISTS writers_watched ON writers (place, id) WHERE levels <> '';
CREATE TABLE IF NOT EXISTS samples (
  model TEXT NOT NULL, hardware TEXT NOT NULL, at INTEGER NOT NULL, counts TEXT NOT NULL,
  PRIMARY KEY (model, hardware, at)) WITHOUT ROWID;`;

/** The most series of an exposition: those of routes, the last ones, are left out first. */
const MAX_SERIES = 20_000;
/** Bounds of what is stored. */
const MAX_MODELS = 200;
const MAX_OF_FAMILY = {
  predictions: 1_000,
  times: 90,
  pool: 100,
  requests: 800,
  deliveries: 1,
  gpus: 50,
};

/** The place of GPUs among samples: the name of a model has a slash. */
const GPUS = "gpus";

/** Gauges and the status are at most this old. */
const FRESH_MS = 10_000;

const DAY_MS = 86_400_000;
const THIN_MS = 3_600_000;
/** A writer sends a batch again within minutes; the levels of an account that runs nothing last for a month. */
const WRITER_MS = 35 * DAY_MS;
/** Accounts whose levels are read. */
const MAX_WATCHED = 1_000;
/** Series that have not risen for so long are dropped: those of models that are gone make room for others. */
const SERIES_MS = 90 * DAY_MS;

interface Sums {
  model: string;
  /** The pool, for GPUs. */
  hardware: string;
  counts: Measures;
}

export class MetricsObject extends DurableObject<Bindings> {
  readonly #series = new Map<string, CountedSeries>();
  readonly #models = new Set<string>();
  #thinnedAt = 0;
  readonly #text = recent(() => this.#exposition());
  readonly #status = recent((last?: StatusReport) => readStatus(this.env, last));

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    const { sql } = ctx.storage;
    sql.exec(CREATE);
    type Row = { family: CountedSeries["family"]; labels: string; counts: string };
    for (const row of sql.exec<Row>("SELECT family, labels, counts FROM series")) {
      const labels = z.record(z.string(), z.string()).parse(JSON.parse(row.labels));
      const counts = measuresIn(row.counts);
      this.#keep({ family: row.family, labels, counts });
    }
  }

  /** Adds counts that are sent once. */
  async add(rows: CountedRow[]): Promise<void> {
    this.ctx.storage.transactionSync(() => this.#add(rows));
    await this.#arm();
  }

  /** Adds a batch, unless it or a later one of its writer was added before. */
  async addBatch({ writer, sequence, rows, levels }: NumberedBatch): Promise<void> {
    const { sql } = this.ctx.storage;
    this.ctx.storage.transactionSync(() => {
      const [last] = sql
        .exec<{ sequence: number }>("SELECT sequence FROM writers WHERE id = ?", writer)
        .toArray();
      if (last && sequence <= last.sequence) return;
      this.#add(rows);
      sql.exec(
        "INSERT OR REPLACE INTO writers (id, sequence, at, levels, place) VALUES (?, ?, ?, ?, ?)",
        ...[writer, sequence, Date.now(), levels ? JSON.stringify(levels) : ""],
        levels && isImportant(levels) ? 0 : 1,
      );
    });
    await this.#arm();
  }

  /** Returns the text of `GET /metrics`, at most 10 s old. */
  exposition(): Promise<string> {
    return this.#text();
  }

  /** Returns the status of the deployment, at most 10 s old. */
  status(): Promise<StatusReport> {
    return this.#status();
  }

  /**
   * Returns the points of a chart.
   * @param model `owner/name`; null: all of the deployment
   */
  history(model: string | null, span: Span): Point[] {
    const now = Date.now();
    const boundaries = boundariesOf(span, now);
    const present = this.#sums().filter((one) => one.model === (model ?? ""));
    const series = present.map((sums) => [
      ...this.#samples(sums, boundaries[0] ?? now),
      { at: now, counts: sums.counts },
    ]);
    return pointsOf(series, boundaries);
  }

  /** Returns the points of the charts of GPUs by pool. */
  gpuHistory(span: Span): { pool: string; points: GpuPoint[] }[] {
    const now = Date.now();
    const boundaries = boundariesOf(span, now);
    return this.#gpus().map((sums) => {
      const samples = this.#samples(sums, boundaries[0] ?? now);
      const all = [...samples, { at: now, counts: sums.counts }];
      return { pool: sums.hardware, points: gpuPointsOf(all, boundaries) };
    });
  }

  /** Returns the samples since a time, and the last one before it. */
  #samples({ model, hardware }: Sums, since: number): SumsAt[] {
    return this.ctx.storage.sql
      .exec<{ at: number; counts: string }>(
        `SELECT at, counts FROM samples WHERE model = ?1 AND hardware = ?2 AND at >= coalesce(
          (SELECT max(at) FROM samples WHERE model = ?1 AND hardware = ?2 AND at <= ?3), 0)
        ORDER BY at`,
        ...[model, hardware, since],
      )
      .toArray()
      .map(({ at, counts }) => ({ at, counts: measuresIn(counts) }));
  }

  /** Returns how the runs of each model have ended since a time; since up to 5 minutes before it, as sampled. */
  outcomes(since: number): Outcomes[] {
    const rises = new Map<string, Measures>();
    for (const { model, hardware, counts } of this.#sums()) {
      if (model === "") continue;
      const [before] = this.ctx.storage.sql
        .exec<{ counts: string }>(
          "SELECT counts FROM samples WHERE model = ? AND hardware = ? AND at <= ? ORDER BY at DESC LIMIT 1",
          ...[model, hardware, since],
        )
        .toArray();
      const rise = riseOf(before ? measuresIn(before.counts) : {}, counts);
      rises.set(model, summed(rises.get(model) ?? {}, rise));
    }
    return [...rises].map(([model, rise]) => ({
      model,
      succeeded: rise.succeeded ?? 0,
      failed: failuresIn(rise),
    }));
  }

  /** Returns the levels of accounts as of now, those with budgets of an operator first. */
  watched(): Levels[] {
    return this.ctx.storage.sql
      .exec<{ levels: string }>(
        "SELECT levels FROM writers WHERE levels <> '' ORDER BY place, id LIMIT ?",
        MAX_WATCHED,
      )
      .toArray()
      .map((row) => levelsAt(levels.parse(JSON.parse(row.levels)), Date.now()));
  }

  override async alarm(): Promise<void> {
    const pools = (await readPools(this.env)).filter(({ gpus }) => gpus.length > 0);
    this.ctx.storage.transactionSync(() => {
      for (const { pool, gpus } of pools) this.#raise("gpus", { pool }, gpuMeasures(gpus));
      this.#keepHistory(Date.now());
    });
    // Idle GPUs are read as well.
    if (pools.length > 0) await this.#arm();
  }

  #keepHistory(now: number): void {
    const { sql } = this.ctx.storage;
    this.#sample(now);
    sql.exec("DELETE FROM writers WHERE at < ?", now - WRITER_MS);
    const dropped = sql.exec<{ family: string; labels: string }>(
      "DELETE FROM series WHERE updated_at < ? RETURNING family, labels",
      now - SERIES_MS,
    );
    for (const { family, labels } of dropped) this.#series.delete(family + labels);
    this.#models.clear();
    for (const { labels } of this.#series.values())
      if (labels.model !== undefined) this.#models.add(labels.model);
  }

  /** Stores the sums that have risen since the last time, and thins old samples. */
  #sample(now: number): void {
    const { sql } = this.ctx.storage;
    const at = Math.floor(now / SAMPLE_MS) * SAMPLE_MS;
    for (const { model, hardware, counts } of [...this.#sums(), ...this.#gpus()]) {
      const text = JSON.stringify(counts);
      const [last] = sql
        .exec<{ counts: string }>(
          "SELECT counts FROM samples WHERE model = ? AND hardware = ? ORDER BY at DESC LIMIT 1",
          ...[model, hardware],
        )
        .toArray();
      if (last?.counts === text) continue;
      sql.exec(
        "INSERT OR REPLACE INTO samples (model, hardware, at, counts) VALUES (?, ?, ?, ?)",
        ...[model, hardware, at, text],
      );
    }
    sql.exec("DELETE FROM samples WHERE at < ?", now - SAMPLES_MS);
    // Thinning reads every old sample, of which there may be 50,000.
    if (now - this.#thinnedAt < THIN_MS) return;
    this.#thinnedAt = now;
    for (const { afterMs, everyMs } of THINNED)
      sql.exec(
        `DELETE FROM samples WHERE at < ?1 AND at < (SELECT max(later.at) FROM samples AS later
          WHERE later.model = samples.model AND later.hardware = samples.hardware
            AND later.at <= ((samples.at - 1) / ?2 + 1) * ?2)`,
        ...[now - afterMs, everyMs],
      );
  }

  #gpus(): Sums[] {
    return [...this.#series.values()].flatMap(({ family, labels, counts }) =>
      family === "gpus" ? [{ model: GPUS, hardware: labels.pool ?? "", counts }] : [],
    );
  }

  /** Returns the sums by model and hardware, with those of the deployment under empty names. */
  #sums(): Sums[] {
    const sums = new Map<string, Sums>();
    for (const { family, labels, counts } of this.#series.values()) {
      if (family !== "times" && family !== "predictions") continue;
      const { model = "", hardware = "" } = labels;
      for (const place of [
        { model, hardware },
        { model: "", hardware: "" },
      ]) {
        const key = keyOf("times", place);
        const before = sums.get(key)?.counts ?? {};
        sums.set(key, { ...place, counts: summed(before, counts) });
      }
    }
    return [...sums.values()];
  }

  #add(rows: CountedRow[]): void {
    for (const { family, labels, counts } of rows) {
      if (family !== "predictions") this.#raise(family, labels, counts);
      else {
        const { model = "", version = "", hardware = "" } = labels;
        const hasRoom = () => isRoom([...this.#models], model, MAX_MODELS);
        const name = this.#models.has(model) || hasRoom() ? model : "other";
        const isTime = (key: string) => key.includes(":") && !key.startsWith("failed:");
        const [times, ends] = [{ ...counts }, { ...counts }];
        for (const key of Object.keys(counts)) delete (isTime(key) ? ends : times)[key];
        this.#raise(
          "predictions",
          { model: name, version: name === "other" ? name : version, hardware },
          ends,
        );
        this.#raise("times", { model: name, hardware }, times);
      }
    }
  }

  /** Adds counts to a series, or to that of the others once there are as many as there may be. */
  #raise(family: CountedSeries["family"], wanted: CountedRow["labels"], counts: Measures): void {
    if (isEmpty(counts)) return;
    const isKnown = this.#series.has(keyOf(family, wanted));
    const labels =
      isKnown || isRoom(this.#modelsOf(family), wanted.model, MAX_OF_FAMILY[family])
        ? wanted
        : Object.fromEntries(Object.keys(wanted).map((name) => [name, "other"]));
    const before = this.#series.get(keyOf(family, labels))?.counts ?? {};
    const series = { family, labels, counts: summed(before, counts) };
    this.ctx.storage.sql.exec(
      "INSERT OR REPLACE INTO series (family, labels, counts, updated_at) VALUES (?, ?, ?, ?)",
      ...[family, JSON.stringify(labels), JSON.stringify(series.counts), Date.now()],
    );
    this.#keep(series);
  }

  /** Sets the alarm for the next sample, unless it is set. */
  async #arm(): Promise<void> {
    const { storage } = this.ctx;
    if ((await storage.getAlarm()) !== null) return;
    await storage.setAlarm((Math.floor(Date.now() / SAMPLE_MS) + 1) * SAMPLE_MS);
  }

  #keep(series: CountedSeries): void {
    this.#series.set(keyOf(series.family, series.labels), series);
    if (series.labels.model !== undefined) this.#models.add(series.labels.model);
  }

  /** Returns the model of each series of the family; empty where it has none. */
  #modelsOf(family: CountedSeries["family"]): string[] {
    const all = [...this.#series.values()].filter((series) => series.family === family);
    return all.map(({ labels }) => labels.model ?? "");
  }

  async #exposition(): Promise<string> {
    const { currency } = settings(this.env);
    const [pools, budgets] = await Promise.all([
      readPools(this.env),
      readBudgets(this.env, this.watched()),
    ]);
    const families = [
      ...gaugesOf(pools),
      budgetGauge(budgets, currency),
      ...countersOf([...this.#series.values()], currency),
    ];
    return expositionOf(limited(families, MAX_SERIES));
  }
}

/** Returns a function that reads a value at most every 10 s, however many wait for it. */
function recent<Value>(read: (last?: Value) => Promise<Value>): () => Promise<Value> {
  let known: { at: number; value: Promise<Value> } | undefined;
  let last: Value | undefined;
  return () => {
    const now = Date.now();
    if (!known || now - known.at >= FRESH_MS) {
      const value = read(last);
      known = { at: now, value };
      value.then(
        (one) => {
          last = one;
        },
        () => {},
      );
    }
    return known.value;
  };
}

const keyOf = (family: string, labels: CountedRow["labels"]) => family + JSON.stringify(labels);

/**
 * Returns whether a series may be added to those that there are. Half of the places are for owners that have less
 * than a quarter, so that no account takes them all.
 */
function isRoom(models: string[], model: string | undefined, most: number): boolean {
  if (models.length >= most) return false;
  if (model === undefined || models.length < most / 2) return true;
  const owner = model.slice(0, model.indexOf("/") + 1);
  return models.filter((one) => one.startsWith(owner)).length < most / 4;
}
