/**
 * What follows a change of a prediction: it is written, readers and waiting callers are told, its
 * row is updated, its next dispatch sent, its alarm set.
 */
import type { Attempt } from "../../domain/predictions/attempts.ts";
import { receiptOf } from "../../domain/predictions/lease.ts";
import { SHORT_RUN_MS } from "../../domain/predictions/short-run.ts";
import type { WebhookEvent } from "../../domain/webhooks/outbox.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { poolOf } from "../pool/stub.ts";
import { runnerAt } from "../runner/stub.ts";
import { Alarm } from "./alarm.ts";
import { Channels } from "./channels.ts";
import { IndexRow } from "./index-row.ts";
import { waitingJobOf } from "./job-messages.ts";
import { logEnd } from "./log-end.ts";
import { encodeEvents } from "./log-events.ts";
import { LogWriter } from "./log-writer.ts";
import type { PredictionRecord } from "./record.ts";
import type { CancelReason } from "./rpc-types.ts";
import type { Subscribers } from "./subscribers.ts";
import { Waiters } from "./waiters.ts";
import type { FindValue } from "./webhook-body.ts";
import { WebhookSender } from "./webhook-sender.ts";

export interface Commit {
  /** Whether the state has changed, and not just the log. */
  changed?: boolean;
  /** Whether the runner's own frame ended it: the runner then learns so by its ack. */
  finished?: boolean;
  /** Whether readers may see it only once it is durable; what the prediction says itself always is. */
  held?: boolean;
  /** The `started` webhook, as of before anything else that this commit writes. */
  started?: WebhookEvent | undefined;
}

export class Effects {
  readonly channels: Channels;
  readonly alarm: Alarm;
  readonly writer: LogWriter;
  readonly row: IndexRow;
  readonly waiters = new Waiters();
  readonly #ctx: DurableObjectState;
  readonly #env: Bindings;
  readonly #webhooks: WebhookSender;
  #keepTimer: number | null = null;

  constructor(ctx: DurableObjectState, env: Bindings, subscribers: Subscribers, find: FindValue) {
    this.#ctx = ctx;
    this.#env = env;
    this.channels = new Channels(ctx);
    this.writer = new LogWriter(ctx.storage, this.channels, subscribers);
    this.alarm = new Alarm(ctx, env, this.channels);
    this.row = new IndexRow(ctx, env, this.alarm);
    const onChange = (record: PredictionRecord) => this.saveDeliveries(record);
    this.#webhooks = new WebhookSender({ ctx, env, find, onChange });
  }

  /** What ends at once is stored at its end; if it lasts it is stored then, and its alarm set. */
  keepSoon(record: PredictionRecord): void {
    this.#keepTimer = setTimeout(() => record.keep(), SHORT_RUN_MS);
  }

  /** Writes all changes in one transaction, and starts everything that follows. */
  commit(
    record: PredictionRecord,
    { changed = true, finished = false, held = false, started }: Commit = {},
  ): void {
    const { life, log } = record;
    const own = life.takeEvents();
    const ended = life.terminal && own.length > 0;
    if (ended) own.push({ event: "done", data: record.present() });
    log.addOwn(encodeEvents(own));
    if (changed) record.save();
    if (!life.state.webhooks_suppressed) {
      if (started) record.outbox?.plan(started);
      if (ended) record.outbox?.planEnd(record.webhookEvent("completed", life.state.updated_at));
    }
    record.saveOutbox();
    const rowHeld = ended && this.row.isHeld(record);
    if (rowHeld) this.alarm.retry(record);
    // What a runner reports of a run that goes on moves no deadline but that of `output` webhooks.
    else if (changed || record.outbox) this.alarm.arm(record);
    for (const attempt of life.takeLostAttempts()) this.#reportLost(record, attempt);
    this.writer.added(record, held || own.length > 0);
    if (!ended) return;
    clearTimeout(this.#keepTimer);
    logEnd(this.#env, life);
    this.waiters.releaseAll();
    this.#ctx.waitUntil(rowHeld ? this.row.writeHeld(record) : this.row.sendFinal(record));
    if (!finished) this.channels.fence(`the prediction is ${life.state.status}`);
    const { attempt, dispatches } = life.state;
    if (attempt ? attempt.started_at === null : dispatches > 0) this.#withdraw(record);
  }

  tellCancel({ life }: PredictionRecord, reason: CancelReason): void {
    const { attempt } = life.state;
    if (attempt && !life.terminal) this.channels.tell(attempt.number, { type: "cancel", reason });
  }

  /** Tells the pool that a runner was handed an attempt and has not connected. */
  reportMissed({ life }: PredictionRecord, { secret }: Attempt): void {
    const pool = poolOf(this.#env, life.spec.hardware);
    this.#ctx.waitUntil(pool.reportMissed(receiptOf(secret)).catch(() => {}));
  }

  /** Tells the pool that a runner was handed an attempt and connected when it was no longer needed. */
  reportDismissed({ life }: PredictionRecord, { secret }: Attempt): void {
    const pool = poolOf(this.#env, life.spec.hardware);
    this.#ctx.waitUntil(pool.reportDismissed(receiptOf(secret)).catch(() => {}));
  }

  /** Requests a runner through the dispatch queue. If the message is lost the alarm sends it again. */
  dispatch(record: PredictionRecord, now: number): void {
    record.life.recordDispatch(now);
    this.commit(record);
    this.sendDispatch(record);
  }

  sendDispatch({ life: { spec } }: PredictionRecord): void {
    const { id: prediction_id, user_id } = spec;
    this.#ctx.waitUntil(
      this.#env.DISPATCH.send(waitingJobOf(spec, this.#objectId)).catch((error) =>
        logger.warn("Dispatch message not sent", { prediction_id, user_id, error }),
      ),
    );
  }

  /** Starts the webhook deliveries that are due. */
  deliver(record: PredictionRecord, now: number): void {
    const { outbox } = record;
    if (!outbox) return;
    if (record.outputWebhookAt <= now) outbox.plan(record.webhookEvent("output", now));
    this.#webhooks.begin(record, outbox, now);
  }

  /** The deliveries have changed. */
  saveDeliveries(record: PredictionRecord): void {
    record.saveOutbox();
    this.alarm.arm(record);
  }

  /** Tells the runner's object that the run is no longer its: the fleet page shows what it knows. */
  #reportLost({ life }: PredictionRecord, { runner_id }: Attempt): void {
    if (runner_id === null) return;
    this.#ctx.waitUntil(
      runnerAt(this.#env, runner_id)
        .removeRun(life.spec.id)
        .catch(() => {}),
    );
  }

  /** Removes it from the pool's queue, where it may still be or arrive: no runner has started it. */
  #withdraw({ life }: PredictionRecord): void {
    const pool = poolOf(this.#env, life.spec.hardware);
    this.#ctx.waitUntil(pool.withdraw(this.#objectId).catch(() => {}));
  }

  get #objectId(): string {
    return this.#ctx.id.toString();
  }
}
