/**
 * What follows from a change of a prediction: it is written, its readers and waiters are told, its
 * row is projected, its next dispatch sent, its alarm set.
 */

import type { Attempt } from "../../domain/predictions/attempts.ts";
import type { Deadline } from "../../domain/predictions/deadlines.ts";
import { receiptOf } from "../../domain/predictions/lease.ts";
import type { Happening } from "../../domain/webhooks/outbox.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { poolOf } from "../pool/stub.ts";
import { runnerAt } from "../runner/stub.ts";
import { Alarm } from "./alarm.ts";
import { Channels } from "./channels.ts";
import { predictionRowOf, waitingJobOf } from "./job-messages.ts";
import { type Line, linesOf, type Totals } from "./log.ts";
import type { PredictionRecord } from "./record.ts";
import type { CancelReason } from "./rpc-types.ts";
import type { Subscribers } from "./subscribers.ts";
import { Waiters } from "./waiters.ts";
import type { FindValue } from "./webhook-body.ts";
import { WebhookSender } from "./webhook-sender.ts";

/** A run that ends within this needs no row that says `started`. */
const STARTED_PROJECTION_MS = 2_000;
const PROJECTION_DELAY_MS = 20;

export interface Commit {
  /** What a runner has reported, with the totals of the log that includes it. */
  lines?: Line[];
  totals?: Totals;
  /** Whether the record has changed, beside the log. */
  changed?: boolean;
  /** Whether it is the runner itself that ended it: it learns so by its ack. */
  finished?: boolean;
  /** That a runner has it now, for webhooks: what it was before whatever else is written here. */
  started?: Happening | undefined;
}

export class Effects {
  readonly channels: Channels;
  readonly alarm: Alarm;
  readonly waiters = new Waiters();
  readonly #ctx: DurableObjectState;
  readonly #env: Bindings;
  readonly #subscribers: Subscribers;
  readonly #courier: WebhookSender;
  /** Whether the row of its end has not been sent. */
  #unprojected = false;

  constructor(ctx: DurableObjectState, env: Bindings, subscribers: Subscribers, find: FindValue) {
    this.#ctx = ctx;
    this.#env = env;
    this.#subscribers = subscribers;
    this.channels = new Channels(ctx);
    this.alarm = new Alarm(ctx, env, this.channels);
    const changed = (record: PredictionRecord) => this.delivered(record);
    this.#courier = new WebhookSender({ ctx, env, find, changed });
  }

  /** Writes what has changed, in one transaction, and lets everything follow from it. */
  commit(
    record: PredictionRecord,
    { lines = [], totals, changed = true, finished = false, started }: Commit = {},
  ): void {
    const { life, log } = record;
    const own = life.takeEvents();
    const ended = life.terminal && lines.length + own.length > 0;
    if (ended) own.push({ event: "done", data: record.present() });
    const all = [...lines, ...linesOf(own)];
    if (changed) record.save();
    const encoded = all.length > 0 ? log.append(all, totals) : undefined;
    if (!life.state.webhooks_suppressed) {
      if (started) record.outbox?.plan(started);
      if (ended) record.outbox?.planEnd(record.happening("completed", life.state.updated_at));
    }
    record.saveOutbox();
    this.alarm.arm(record);
    for (const attempt of life.takeLostAttempts()) this.#tellLost(record, attempt);
    if (all.length > 0) this.#subscribers.publish(encoded);
    if (!ended) return;
    this.waiters.release();
    this.#ctx.waitUntil(this.#projectEnd(record));
    if (!finished) this.channels.fence(`the prediction is ${life.state.status}`);
    const { attempt, dispatches } = life.state;
    if (attempt ? attempt.started_at === null : dispatches > 0) this.#withdraw(record);
  }

  tellCancel({ life }: PredictionRecord, reason: CancelReason): void {
    const { attempt } = life.state;
    if (attempt && !life.terminal) this.channels.tell(attempt.number, { type: "cancel", reason });
  }

  /** Tells the pool of a runner that was handed it and did not come. */
  tellUnheard({ life }: PredictionRecord, { secret }: Attempt): void {
    const pool = poolOf(this.#env, life.spec.hardware);
    this.#ctx.waitUntil(pool.unheard(receiptOf(secret)).catch(() => {}));
  }

  /** Tells the pool of a runner that was handed it and came when it was not wanted any more. */
  excuse({ life }: PredictionRecord, { secret }: Attempt): void {
    const pool = poolOf(this.#env, life.spec.hardware);
    this.#ctx.waitUntil(pool.excuse(receiptOf(secret)).catch(() => {}));
  }

  /** Asks the dispatch queue for a runner. A message that is lost is sent again by the alarm. */
  dispatch(record: PredictionRecord, now: number): void {
    record.life.recordDispatch(now);
    this.commit(record);
    this.sendDispatch(record);
  }

  sendDispatch(record: PredictionRecord): void {
    this.#ctx.waitUntil(
      this.#env.DISPATCH.send(waitingJobOf(record.life.spec, this.#objectId)).catch((error) =>
        logger.warn("Dispatch message not sent", { prediction_id: record.life.spec.id, error }),
      ),
    );
  }

  /** Begins the webhooks that are due. */
  deliver(record: PredictionRecord, now: number): void {
    const { outbox } = record;
    if (!outbox) return;
    if (record.outputAt <= now) outbox.plan(record.happening("output", now));
    this.#courier.begin(record, outbox, now);
  }

  /** Something has changed in what is to be delivered. */
  delivered(record: PredictionRecord): void {
    record.saveOutbox();
    this.alarm.arm(record);
  }

  /** Sends the row as it should be. */
  async project(record: PredictionRecord, dataRemoved = false): Promise<void> {
    // Until it is there: a webhook's alarm may come before it is tried again.
    this.#unprojected = true;
    await this.#env.PROJECTION.send({
      ...predictionRowOf(record, this.#objectId),
      data_removed: dataRemoved,
    });
    this.#unprojected = false;
  }

  /** Those who wait for the end come first: a row that is 20 ms late is not noticed. */
  async #projectEnd(record: PredictionRecord): Promise<void> {
    await scheduler.wait(PROJECTION_DELAY_MS);
    await this.project(record).catch(() => this.alarm.retry(record));
  }

  /**
   * Whether the row of its end is still to be sent, when it was woken for this deadline or none.
   * Woken for none, it may have sent it before it was evicted: once more does no harm, unless the
   * row was deleted meanwhile with its account, whose data goes first.
   */
  owesRow({ life }: PredictionRecord, due: Deadline | undefined): boolean {
    return life.terminal && (this.#unprojected || (!due && !life.dataRemoved));
  }

  /** The row of a run that lasts says `started`. */
  projectStarted(record: PredictionRecord): void {
    setTimeout(() => {
      if (record.life.state.status !== "started") return;
      this.#ctx.waitUntil(this.project(record).catch(() => {}));
    }, STARTED_PROJECTION_MS);
  }

  /** Tells the runner's object that the run is not its any more: the fleet's page asks that. */
  #tellLost({ life }: PredictionRecord, { runner_id }: Attempt): void {
    if (runner_id === null) return;
    this.#ctx.waitUntil(
      runnerAt(this.#env, runner_id)
        .lost(life.spec.id)
        .catch(() => {}),
    );
  }

  /** Takes it out of the pool's line, where it may still stand, or come to: nobody was heard of it. */
  #withdraw({ life }: PredictionRecord): void {
    const pool = poolOf(this.#env, life.spec.hardware);
    this.#ctx.waitUntil(pool.withdraw(this.#objectId).catch(() => {}));
  }

  get #objectId(): string {
    return this.#ctx.id.toString();
  }
}
