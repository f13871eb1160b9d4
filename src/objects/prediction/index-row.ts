/**
 * The row of a prediction in D1, which is a copy of what its object knows. The Worker writes the first
 * one; the others go through the queue `projection`. A short run (domain/predictions/short-run.ts) has
 * only its final row, which its object writes itself.
 */
import type { Deadline } from "../../domain/predictions/deadlines.ts";
import { SHORT_RUN_MS } from "../../domain/predictions/short-run.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { database } from "../../storage/database.ts";
import { projectPredictions } from "../../storage/predictions/predictions.ts";
import type { Alarm } from "./alarm.ts";
import { predictionRowOf } from "./job-messages.ts";
import type { PredictionRecord } from "./record.ts";

/** A run that ends sooner needs no row that says `started`. */
const STARTED_ROW_MS = 2_000;
/** Callers that wait for the end come first: nobody notices a row that is this late. */
const FINAL_ROW_DELAY_MS = 20;
/**
 * The Worker counts from before its object begins, and until it has the answer: what has ended within
 * this may have no row yet.
 */
const HELD_MS = 2 * SHORT_RUN_MS;

export class IndexRow {
  readonly #ctx: DurableObjectState;
  readonly #env: Bindings;
  readonly #alarm: Alarm;
  /** When the prediction began, if that was since the object woke up. */
  #begunAt = 0;
  /** Whether one was sent since then. */
  #sent = false;
  /** Whether the final one is still to be sent. */
  #pending = false;

  constructor(ctx: DurableObjectState, env: Bindings, alarm: Alarm) {
    this.#ctx = ctx;
    this.#env = env;
    this.#alarm = alarm;
  }

  begun(): void {
    this.#begunAt = Date.now();
  }

  /** Whether it has none yet, now that it has ended. */
  isHeld({ life: { spec, state } }: PredictionRecord): boolean {
    return spec.row_held && !state.stored && Date.now() - this.#begunAt < HELD_MS;
  }

  /** Sends the current row to the projection queue. */
  async send(record: PredictionRecord, dataRemoved = false): Promise<void> {
    // Set until it is sent: an alarm for a webhook may come before the retry.
    this.#pending = true;
    await this.#env.PROJECTION.send({
      ...predictionRowOf(record, this.#ctx.id.toString()),
      data_removed: dataRemoved,
    });
    this.#pending = false;
    this.#sent = true;
  }

  /** Sends the row of a run that has started, unless it ends soon. */
  sendStarted(record: PredictionRecord): void {
    setTimeout(() => {
      if (record.life.state.status !== "started") return;
      this.#ctx.waitUntil(this.send(record).catch(() => {}));
    }, STARTED_ROW_MS);
  }

  async sendFinal(record: PredictionRecord): Promise<void> {
    await scheduler.wait(FINAL_ROW_DELAY_MS);
    await this.send(record).catch(() => this.#alarm.retry(record));
  }

  /**
   * Writes the only row of a short run. Not through the queue: that costs three operations, and if its
   * message were lost no sweep would find a row to repair. An alarm that is set already tries again.
   */
  async writeHeld(record: PredictionRecord): Promise<void> {
    this.#pending = true;
    await scheduler.wait(FINAL_ROW_DELAY_MS);
    try {
      await this.#write(record);
      this.#alarm.settled(record);
    } catch (error) {
      const { id: prediction_id, user_id } = record.life.spec;
      logger.warn("Prediction row not written", { prediction_id, user_id, error });
    }
  }

  /**
   * Whether an alarm, for this deadline or none, must send it. At the end: with none due it may have
   * been sent before the object was evicted, and a second time does no harm, unless the row was
   * deleted meanwhile with its account, which deletes the data first. Before the end, if it was held
   * back: the Worker that was to write it once the run lasts may have died.
   */
  isOwed({ life }: PredictionRecord, due: Deadline | undefined): boolean {
    if (!life.terminal) return life.spec.row_held && !this.#sent;
    return this.#pending || (!due && !life.dataRemoved);
  }

  sendOwed(record: PredictionRecord): Promise<void> {
    const { spec, terminal } = record.life;
    return spec.row_held && terminal ? this.#write(record) : this.send(record);
  }

  async #write(record: PredictionRecord): Promise<void> {
    const row = predictionRowOf(record, this.#ctx.id.toString());
    await projectPredictions(database(this.#env.DB), [row]);
    this.#pending = false;
  }
}
