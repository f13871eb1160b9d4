/**
 * The row of a prediction in the index of its account: a copy, which the prediction's object writes. A short
 * run (domain/predictions/state.ts) has only its final row.
 */

import type { Crossing } from "../../domain/money/budget.ts";
import type { Deadline } from "../../domain/predictions/deadlines.ts";
import {
  initialRow,
  type PredictionUpdate,
  predictionRow,
} from "../../domain/predictions/prediction-row.ts";
import { isAdmitted, type PredictionSpec, waitsAgain } from "../../domain/predictions/state.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";
import { type Admission, accountAt } from "../stubs/account.ts";
import type { Alarm } from "./alarm.ts";
import type { PredictionRecord } from "./record.ts";

/**
 * A run that ends sooner gets no row that says `started`, and a shorter wait for another runner gets none.
 */
const UNDER_WAY_ROW_MS = 2_000;
/** Callers that wait for the end come first: nobody notices a row that is this late. */
const FINAL_ROW_DELAY_MS = 20;
/** How long the end of a short run may wait for its row. A write usually takes some milliseconds. */
const ACKNOWLEDGED_MS = 250;

/**
 * The outcome of writing the only row of a short run. carried: the account has it, and removes the data.
 * written: the account has it. owed: the account may not have it.
 */
export type OnlyRow = "carried" | "written" | "owed";

export const UNLIMITED: Admission = { reserved: null };

export class IndexRow {
  readonly #ctx: DurableObjectState;
  readonly #env: Bindings;
  readonly #alarm: Alarm;
  /** Whether a row was written, or is being written, since the object woke up. */
  #begun = false;
  /** Whether the final row is still to be written. */
  #pending = false;

  /** Called with the lines of budgets that the prediction has crossed. */
  readonly #onCrossed: (record: PredictionRecord, crossed: Crossing[]) => void;

  constructor(
    ctx: DurableObjectState,
    env: Bindings,
    alarm: Alarm,
    onCrossed: (record: PredictionRecord, crossed: Crossing[]) => void,
  ) {
    this.#onCrossed = onCrossed;
    this.#ctx = ctx;
    this.#env = env;
    this.#alarm = alarm;
  }

  /** Whether the prediction has no row yet, now that it ends. */
  isHeld({ life: { spec } }: PredictionRecord): boolean {
    return spec.row_held && !this.#begun;
  }

  /** Writes the first row, of a prediction that begins, claims its key and reserves what it may cost. */
  async writeInitial(spec: PredictionSpec): Promise<Admission> {
    const row = initialRow(spec, this.#objectId);
    if (!isAdmitted(spec)) return (await this.#write(spec, row)) ? UNLIMITED : "unavailable";
    this.#begun = true;
    const account = accountAt(this.#env, spec.account_object);
    return account.admit(spec.claim, spec.reservation, row);
  }

  /** Writes the current row. @throws when it cannot be written */
  async write(record: PredictionRecord, dataRemoved = false): Promise<boolean> {
    // `#pending` is set until the row is written: an alarm for a webhook may come before the retry.
    this.#pending = true;
    const row = predictionRowOf(record, this.#objectId);
    const written = await this.#write(record.life.spec, {
      ...row,
      ...(dataRemoved && { data_removed: true, due_at: null, kept_seconds: null }),
    });
    this.#pending = !written;
    if (written && written.length > 0) this.#onCrossed(record, written);
    return written !== false;
  }

  /** Writes the row of a run that has started, or that waits again, unless that is soon over. */
  writeUnderWay(record: PredictionRecord): void {
    const { life } = record;
    const isWaiting = waitsAgain(life.state);
    setTimeout(() => {
      if (life.state.status !== "started" || waitsAgain(life.state) !== isWaiting) return;
      this.#ctx.waitUntil(this.write(record).catch(() => {}));
    }, UNDER_WAY_ROW_MS);
  }

  async writeFinal(record: PredictionRecord): Promise<void> {
    await scheduler.wait(FINAL_ROW_DELAY_MS);
    if (!(await this.write(record).catch(() => false))) this.#alarm.retry(record);
  }

  /**
   * Writes the only row of a short run, while its end is stored. The account then removes its data when that
   * is due, and the prediction needs no alarm. This holds only for a run that is kept as long as others: the
   * account removes data together that is kept equally long.
   */
  async writeOnly(record: PredictionRecord): Promise<OnlyRow> {
    const { spec } = record.life;
    const carried = spec.retention_seconds === settings(this.#env).retentionSeconds;
    this.#pending = true;
    try {
      const row = predictionRowOf(record, this.#objectId, carried);
      this.#pending = !(await this.#write(spec, row, ACKNOWLEDGED_MS));
      if (this.#pending) return "owed";
      return carried ? "carried" : "written";
    } catch (error) {
      const { id: prediction_id, user_id } = spec;
      logger.warn("Prediction row not written", { prediction_id, user_id, error });
      return "owed";
    }
  }

  /** Deletes the first row of a prediction that does not begin after all. */
  async discard({ id, account_object }: PredictionSpec): Promise<void> {
    await accountAt(this.#env, account_object)
      .discard(id, this.#objectId)
      // The account finds out by itself that there is no prediction.
      .catch(() => {});
  }

  /**
   * Whether an alarm, for this deadline or none, must write the row. At the end, with no deadline due, the
   * row may have been written before the object was evicted, and a second time does no harm. Before the end,
   * the row is owed if it was held back.
   */
  isOwed({ life }: PredictionRecord, due: Deadline | undefined): boolean {
    if (!life.terminal) return life.spec.row_held && !this.#begun;
    return this.#pending || (!due && !life.dataRemoved);
  }

  async #write(
    { account_object }: PredictionSpec,
    row: PredictionUpdate,
    ms?: number,
  ): Promise<Crossing[] | false> {
    this.#begun = true;
    return accountAt(this.#env, account_object, ms).put(row);
  }

  get #objectId(): string {
    return this.#ctx.id.toString();
  }
}

/** The row of a prediction as of all that is logged: it is written before or after the log is stored. */
export const predictionRowOf = (
  { life, log }: PredictionRecord,
  objectId: string,
  carried?: boolean,
) => predictionRow(life.spec, life.state, objectId, log.stored, carried);
