/** The names and estimates of containers, by their opaque keys. */

import { LRUCache } from "lru-cache";
import { PoolState, saved } from "../../domain/scheduling/decide/pool-state.ts";
import type { Settings } from "../../domain/scheduling/decide/types.ts";
import type { ContainerName } from "../../domain/scheduling/explanation.ts";
import { logger } from "../../log.ts";
import type { WaitingJob } from "../../protocol/queue.ts";
import type { Measured } from "../../protocol/runner-state.ts";

/** As many keys as estimates are kept for. */
const MAX_KEYS = 5_000;

const SAVE_MS = 60_000;

/** The longest run that a version may have (protocol/model.ts). */
const RUN_LIMIT_MS = 86_400_000;

const atMost = (limit: number, ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : Math.min(ms, limit);

interface Row extends Record<string, SqlStorageValue> {
  estimates: string;
}

/**
 * How long setups and runs are expected to take, and how often each key is asked for: measured by the
 * runners, kept in one row, and written once a minute while anything is learned.
 */
export class StoredEstimates {
  readonly state: PoolState;
  readonly #sql: SqlStorage;
  #timer: number | null = null;

  constructor(sql: SqlStorage, settings: Settings) {
    this.state = new PoolState(settings);
    this.#sql = sql;
    sql.exec(
      "CREATE TABLE IF NOT EXISTS estimates (id INTEGER PRIMARY KEY, estimates TEXT NOT NULL)",
    );
    const [row] = sql.exec<Row>("SELECT estimates FROM estimates");
    if (row) this.#load(row.estimates);
  }

  /**
   * Learns measurements of keys that jobs have asked for: those of other keys would displace what is known.
   */
  learn(measured: readonly Measured[]): void {
    const asked = measured.filter(({ key }) => this.state.demand.has(key));
    for (const { key, setup_ms, run_ms } of asked)
      this.state.measured(key, {
        setup_ms: atMost(this.state.settings.setup_limit_ms, setup_ms),
        run_ms: atMost(RUN_LIMIT_MS, run_ms),
      });
    if (asked.length > 0) this.#timer ??= setTimeout(() => this.#save(), SAVE_MS);
  }

  #load(text: string): void {
    try {
      this.state.load(saved.parse(JSON.parse(text)));
    } catch (error) {
      // The estimates are learned again.
      logger.warn("Estimates not read", { error });
    }
  }

  #save(): void {
    this.#timer = null;
    const text = JSON.stringify(this.state.save());
    this.#sql.exec("INSERT OR REPLACE INTO estimates (id, estimates) VALUES (1, ?)", text);
  }
}

/**
 * Models that containers run, by the containers' opaque keys: as their jobs said, or else their image. Names
 * are in memory: people read them, and nothing depends on them.
 */
export class ContainerNames {
  readonly #names = new LRUCache<string, ContainerName>({ max: MAX_KEYS });

  add({ container_key, image, model, model_id, model_owner_id }: WaitingJob): void {
    this.#names.set(container_key, { image, model: { name: model, model_id, model_owner_id } });
  }

  /** Adds the images of containers that no job has asked for since the pool woke up. */
  addImages(containers: Iterable<{ key: string; image: string }>): void {
    for (const { key, image } of containers)
      if (!this.#names.has(key)) this.#names.set(key, { image, model: null });
  }

  find(key: string): ContainerName | undefined {
    return this.#names.get(key);
  }
}
