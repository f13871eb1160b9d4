/**
 * The effects of a change of a prediction: the change is written, readers and waiting callers hear of it, the
 * row is updated, the next dispatch is sent, and the alarm is set.
 */
import { LRUCache } from "lru-cache";
import { budgetFactsOf, type Crossing } from "../../domain/money/budget.ts";
import type { Attempt } from "../../domain/predictions/attempts.ts";
import { receiptOf } from "../../domain/predictions/lease.ts";
import type { PredictionLife } from "../../domain/predictions/life.ts";
import {
  type PredictionSpec,
  predictionOfEvent,
  SHORT_RUN_MS,
  waitingJobOf,
} from "../../domain/predictions/state.ts";
import type { WebhookEvent } from "../../domain/webhooks/outbox.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { ServerDescription } from "../../protocol/runner.ts";
import { database } from "../../storage/database.ts";
import { listPendingUploadsOf } from "../../storage/files/uploads.ts";
import { fillSize } from "../../storage/models/versions.ts";
import { accountAt } from "../stubs/account.ts";
import { poolOf } from "../stubs/pool.ts";
import type { CancelReason } from "../stubs/prediction.ts";
import { runnerAt } from "../stubs/runner.ts";
import { Alarm, cancel } from "./alarm.ts";
import { Channels } from "./channels.ts";
import { IndexRow } from "./index-row.ts";
import { endUploads } from "./lease-holder.ts";
import { encodeEvents } from "./log-events.ts";
import { LogWriter, logEnd } from "./log-writer.ts";
import type { PredictionRecord } from "./record.ts";
import type { Subscribers, Waiters } from "./subscribers.ts";
import { sendTrace } from "./trace.ts";
import { completeVersion, measureEnd } from "./version-facts.ts";
import { DeliveryReport, type FindValue, WebhookSender } from "./webhooks.ts";

/**
 * Versions whose size this isolate has reported: for the 10 s that versions are cached, each of their
 * predictions measures it again.
 */
const reportedSizes = new LRUCache<string, true>({ max: 1_000 });

/** How long an account may take to extend a reservation: it is asked again before that is used up. */
const EXTEND_MS = 1_500;

export interface Commit {
  /** Whether the state has changed, and not just the log. */
  changed?: boolean;
  /** Whether the runner's own frame ended the prediction: the runner then learns so by its ack. */
  finished?: boolean;
  /**
   * Whether readers may see the events only once they are durable; the prediction's own events are always
   * held.
   */
  held?: boolean;
  /** The `started` webhook, as of before anything else that this commit writes. */
  started?: WebhookEvent | undefined;
}

/** A commit that is stored, and that readers and callers have not heard of yet. */
interface Stored {
  ended: boolean;
  finished: boolean;
  held: boolean;
}

export class Effects {
  readonly channels: Channels;
  readonly alarm: Alarm;
  readonly writer: LogWriter;
  readonly row: IndexRow;
  readonly waiters: Waiters;
  readonly #ctx: DurableObjectState;
  readonly #env: Bindings;
  readonly #webhooks: WebhookSender;
  readonly #deliveries: DeliveryReport;
  #keepTimer: number | null = null;
  /** The end of a short run, until it is stored and its row is written. */
  ending: Promise<void> | undefined;
  /** Whether the row of a short run that lasts is written. */
  lasting: Promise<boolean> | undefined;

  constructor(
    ctx: DurableObjectState,
    env: Bindings,
    subscribers: Subscribers,
    waiters: Waiters,
    find: FindValue,
  ) {
    this.#ctx = ctx;
    this.#env = env;
    this.waiters = waiters;
    this.channels = new Channels(ctx);
    this.writer = new LogWriter(ctx.storage, this.channels, subscribers);
    this.alarm = new Alarm(ctx, env, this.channels);
    this.row = new IndexRow(ctx, env, this.alarm, (record, crossed) =>
      this.#tellOfBudgets(record, crossed),
    );
    const onChange = (record: PredictionRecord) => this.saveDeliveries(record);
    this.#webhooks = new WebhookSender({ ctx, env, find, onChange });
    this.#deliveries = new DeliveryReport(ctx, env);
  }

  /** Keeps the prediction unless it ends at once: a short run is stored at its end. */
  keepSoon(record: PredictionRecord): void {
    this.#keepTimer = setTimeout(() => this.keep(record), SHORT_RUN_MS);
  }

  /** Keeps a prediction that lasts: stores it, sets its alarm, and writes its row unless that was done. */
  keep(record: PredictionRecord): void {
    record.keep();
    if (!this.row.isHeld(record)) return;
    this.lasting = this.#list(record);
    this.#ctx.waitUntil(this.lasting);
  }

  /** Writes the row: without one nobody could find the prediction, so it must not run. */
  async #list(record: PredictionRecord): Promise<boolean> {
    const written = await this.row.write(record).catch(() => false);
    if (record.life.terminal) {
      // The alarm also removes the data, which the account then does not.
      if (written) this.alarm.arm(record);
      else this.alarm.retry(record);
    }
    if (written || record.life.terminal) return written;
    record.life.suppressWebhooks();
    record.save();
    cancel(record, this, "it could not be created");
    this.waiters.releaseAll();
    return false;
  }

  /**
   * Writes all changes in one transaction, and starts all effects. The end of a short run is stored while its
   * row is written, and published when both are there (`ending`): it needs no alarm if its account has the
   * row. Should the object die in between, the runner, which has no answer, asks again (`owed`), and so does
   * the creator (PredictionObject.confirm).
   */
  commit(record: PredictionRecord, commit: Commit = {}): void {
    if (!record.life.terminal || !this.row.isHeld(record)) {
      const stored = this.#store(record, commit);
      if (commit.changed !== false || record.outbox) this.alarm.arm(record);
      this.#publish(record, stored);
      if (stored.ended) this.#ctx.waitUntil(this.row.writeFinal(record));
      return;
    }
    clearTimeout(this.#keepTimer);
    // The row is written first: whatever is sent after a write waits until that is durable.
    const writing = this.row.writeOnly(record);
    const stored = this.#store(record, commit);
    this.ending = writing.then((row) => {
      if (row === "owed") this.alarm.retry(record);
      else if (row === "written") this.alarm.arm(record);
      this.#publish(record, stored);
    });
    this.#ctx.waitUntil(this.ending);
  }

  /** Writes the row again if it may not be written: a runner asks about an end that was not acknowledged. */
  owed(record: PredictionRecord): void {
    if (record.life.terminal && this.row.isHeld(record)) this.alarm.retry(record);
  }

  #store(
    record: PredictionRecord,
    { changed = true, finished = false, held = false, started }: Commit,
  ): Stored {
    const { life, log } = record;
    const own = life.takeEvents();
    const ended = life.terminal && own.length > 0;
    if (ended) own.push({ event: "done", data: predictionOfEvent(life.spec, life.state) });
    log.addOwn(encodeEvents(own));
    if (changed) record.save();
    if (!life.state.webhooks_suppressed) {
      if (started) record.outbox?.plan(started);
      if (ended) record.outbox?.planEnd(record.webhookEvent("completed", life.state.updated_at));
    }
    this.#deliveries.changed(record, record.saveOutbox());
    const left = life.takeLeft();
    if (left.length > 0) this.#fellBack(record, left);
    return { ended, finished, held: held || own.length > 0 };
  }

  #publish(record: PredictionRecord, { ended, finished, held }: Stored): void {
    const { life } = record;
    for (const attempt of life.attempts.takeLost()) this.#reportLost(record, attempt);
    this.writer.added(record, held);
    if (!ended) return;
    clearTimeout(this.#keepTimer);
    logEnd(this.#env, life);
    measureEnd(this.#env, life);
    this.#reportSize(record);
    this.waiters.releaseAll();
    if (life.spec.deployment?.starts) this.#ctx.waitUntil(this.#tellOfStart(life));
    if (life.spec.trace) this.#ctx.waitUntil(sendTrace(this.#env, record));
    if (!finished) this.channels.fence(`the prediction is ${life.state.status}`);
    if (life.state.stored) this.#ctx.waitUntil(this.#endUploads(life.spec.id));
    const { attempt, dispatches } = life.state;
    if (attempt ? attempt.started_at === null : dispatches > 0) this.#withdraw(record);
  }

  /** Takes the job from the runners and pools of versions that do not answer, and requests one of the next. */
  #fellBack(record: PredictionRecord, left: PredictionSpec[]): void {
    const { life } = record;
    this.channels.fence("a fallback answers the prediction");
    for (const { remote, hardware } of left)
      if (!remote && hardware.pool !== life.spec.hardware.pool)
        this.#ctx.waitUntil(
          poolOf(this.#env, hardware.pool)
            .withdraw(this.#objectId, true)
            .catch(() => {}),
        );
    if (life.terminal || life.spec.remote) return;
    life.recordDispatch(Date.now());
    record.keep();
    record.save();
    this.sendDispatch(record);
  }

  /** Tells the deployment how its start has ended. If the message is lost, the sweep starts another container. */
  async #tellOfStart({ spec: { id, deployment }, state }: PredictionLife): Promise<void> {
    if (!deployment) return;
    const { status, error } = state;
    const failure = status === "succeeded" ? null : (error?.message ?? `The start was ${status}.`);
    const message = { deployment_id: deployment.id, release: deployment.release, failure };
    await this.#env.COUNTS.send(message).catch((error) =>
      logger.warn("Start of a deployment not told", { prediction_id: id, error }),
    );
  }

  /** Ends the uploads that a runner has left unfinished: they are of no use after the end. */
  async #endUploads(id: string): Promise<void> {
    await endUploads(this.#env, id, listPendingUploadsOf).catch((error) =>
      logger.warn("Uploads of a prediction not ended", { prediction_id: id, error }),
    );
  }

  /** Asks the account to reserve twice as much, or as much as the run can cost at most. */
  async extend(record: PredictionRecord): Promise<void> {
    const { spec, state } = record.life;
    const { id, account_object, reservation } = spec;
    const wanted = Math.min(2 * (state.reserved ?? 0), reservation?.most ?? 0);
    const total = await accountAt(this.#env, account_object, EXTEND_MS)
      .extend(id, this.#objectId, wanted)
      .catch(() => undefined);
    record.life.extend(total, Date.now());
    this.commit(record);
  }

  sendCancel({ life }: PredictionRecord, reason: CancelReason): void {
    const { attempt } = life.state;
    if (attempt && !life.terminal) this.channels.send(attempt.number, { type: "cancel", reason });
  }

  /** Tells the pool that a runner was handed an attempt and has not connected. */
  reportMissed({ life }: PredictionRecord, { secret }: Attempt): void {
    for (const pool of this.#poolsOf(life))
      this.#ctx.waitUntil(pool.reportMissed(receiptOf(secret)).catch(() => {}));
  }

  /** Tells the pool that a runner was handed an attempt and connected when it was no longer needed. */
  reportDismissed({ life }: PredictionRecord, { secret }: Attempt): void {
    for (const pool of this.#poolsOf(life))
      this.#ctx.waitUntil(pool.reportDismissed(receiptOf(secret)).catch(() => {}));
  }

  /** The pools of all versions that were asked: a pool does not know the attempts of another. */
  #poolsOf({ asked }: PredictionLife) {
    const local = asked.filter(({ remote }) => !remote);
    const names = new Set(local.map(({ hardware }) => hardware.pool));
    return [...names].map((name) => poolOf(this.#env, name));
  }

  /**
   * Tells the pool that the machine of a runner failed the start. If the job waits again, it is in the pool's
   * line from then on. A pool that does not answer gets the job through the dispatch queue.
   */
  reportFailedStart(record: PredictionRecord, reason: string, now: number): void {
    const { life } = record;
    const { spec, state, waiting } = life;
    if (waiting) {
      this.channels.fence("its start failed");
      life.recordDispatch(now);
    }
    this.commit(record);
    const failed = { failed_on: [...state.failed_on], reason, waits: waiting };
    this.#ctx.waitUntil(
      poolOf(this.#env, spec.hardware.pool)
        .startFailed(waitingJobOf(spec, this.#objectId), failed)
        .catch(() => waiting && this.sendDispatch(record)),
    );
  }

  /** Requests a runner through the dispatch queue. If the message is lost the alarm sends it again. */
  dispatch(record: PredictionRecord, now: number): void {
    record.life.recordDispatch(now);
    this.commit(record);
    this.sendDispatch(record);
  }

  /** A remote call is handed out by the alarm (`Handouts.openRemote`). */
  sendDispatch({ life: { spec } }: PredictionRecord): void {
    if (spec.remote) return;
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

  /** Plans the events of budgets. They come after the end, under numbers that no event of the log has. */
  #tellOfBudgets(record: PredictionRecord, crossed: Crossing[]): void {
    const { outbox, life } = record;
    if (!outbox || !life.terminal || life.dataRemoved) return;
    const { currency } = settings(this.#env);
    for (const [n, { event, budget }] of crossed.entries()) {
      const planned = record.webhookEvent(event, Date.now());
      const sequence = planned.sequence + 1 + n;
      outbox.plan({ ...planned, sequence, budget: budgetFactsOf(budget, currency) });
    }
    this.saveDeliveries(record);
  }

  saveDeliveries(record: PredictionRecord): void {
    this.#deliveries.changed(record, record.saveOutbox());
    this.alarm.arm(record);
  }

  /**
   * Tells the runner's object that the run is no longer its own: the fleet page shows what that object knows.
   */
  #reportLost({ life }: PredictionRecord, { runner_id }: Attempt): void {
    if (runner_id === null) return;
    this.#ctx.waitUntil(
      runnerAt(this.#env, runner_id)
        .removeRun(life.spec.id)
        .catch(() => {}),
    );
  }

  /**
   * Reports the size of the image, if it was to be measured. The next prediction reports it again if this is
   * lost.
   */
  #reportSize({ life: { spec, state } }: PredictionRecord): void {
    const { model_id, model } = spec;
    const version = `${model_id}:${model.version_number}`;
    if (state.image_bytes === null || reportedSizes.has(version)) return;
    reportedSizes.set(version, true);
    const { version_number } = model;
    const filling = fillSize(database(this.#env.DB), model_id, version_number, state.image_bytes);
    this.#ctx.waitUntil(filling.run().catch(() => reportedSizes.delete(version)));
  }

  /**
   * Completes the version with what its container describes. The next prediction does it again if this is
   * lost.
   */
  described({ life: { spec } }: PredictionRecord, description: ServerDescription): void {
    if (!spec.describe) return;
    const { model_id, model } = spec;
    const version = { model_id, number: model.version_number };
    this.#ctx.waitUntil(
      completeVersion(this.#env, { ...version, description }).catch((error) =>
        logger.warn("Version not completed", { ...version, error }),
      ),
    );
  }

  /** Removes the job from the pool's queue, where it may still be or arrive: no runner has started it. */
  #withdraw({ life }: PredictionRecord): void {
    if (life.spec.remote) return;
    const pool = poolOf(this.#env, life.spec.hardware.pool);
    this.#ctx.waitUntil(pool.withdraw(this.#objectId).catch(() => {}));
  }

  get #objectId(): string {
    return this.#ctx.id.toString();
  }
}
