/**
 * The prediction object: the one owner of a prediction's state, input, output and log. Its entry
 * points are RPC methods, fetch (event streams and runners' channels) and its one alarm. The rules
 * are in domain/predictions/life.ts, the effects in effects.ts.
 */
import { DurableObject } from "cloudflare:workers";
import type { LeaseHolder } from "../../domain/predictions/lease.ts";
import type { PredictionLife } from "../../domain/predictions/life.ts";
import type { PredictionUpdate } from "../../domain/predictions/prediction-row.ts";
import { hasStoredInput, type PredictionSpec } from "../../domain/predictions/state.ts";
import type { RunFacts } from "../../domain/predictions/timeline.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { ReportReply } from "../../protocol/channel.ts";
import { runnerTokenKnownAt } from "../../storage/accounts/reader-access.ts";
import { database } from "../../storage/database.ts";
import { ReplacementCheck } from "../replacement-check.ts";
import type { Piece } from "../stubs/content.ts";
import type { OfferedJob } from "../stubs/pool.ts";
import {
  type CancelReason,
  type CancelResult,
  type CreateRequest,
  type CreateResult,
  createRequestIn,
  type EventDeliveries,
  type History,
  HOLDER_HEADER,
  type LastRun,
  type OriginalRequest,
  type ReplicateView,
  type Snapshot,
  type WriteGrant,
} from "../stubs/prediction.ts";
import { cancel } from "./alarm.ts";
import { handleDeadline, Removal } from "./deadlines.ts";
import { Effects } from "./effects.ts";
import { Handouts, type NotBegun } from "./handouts.ts";
import { predictionRowOf } from "./index-row.ts";
import { beginWrite, continueWrite, leasedInput, mayReadFile } from "./lease-holder.ts";
import { findValue, historyOf, openValue, readResponse, runFactsOf } from "./reads.ts";
import { PredictionRecord } from "./record.ts";
import { RunnerConnection } from "./runner-connection.ts";
import { Streams } from "./streams.ts";
import { Subscribers, Waiters } from "./subscribers.ts";
import { bodyOf, deliveriesOf, eventDeliveriesOf, type FindValue } from "./webhooks.ts";

/** The value that says that nothing will ever begin here, and how long it is kept. */
const NEVER = "never";
const NEVER_MS = 2 * 86_400_000;

export class PredictionObject extends DurableObject<Bindings> {
  #record: PredictionRecord | undefined;
  /** Whether the prediction could be created: calls that arrive meanwhile wait for it. */
  #creation: Promise<NotBegun | undefined> | undefined;
  readonly #subscribers = new Subscribers({
    page: (after) => this.#record?.log.page(after, this.#record.lastShown),
    last: () => this.#record?.lastShown ?? 0,
    ended: () => this.#record?.isAllShown ?? true,
    open: (name) => openValue(this.env.FILES, this.#load(), name),
  });
  readonly #replacement = new ReplacementCheck(this.ctx);
  readonly #waiters = new Waiters(this.#replacement);
  readonly #find: FindValue = (name) => findValue(this.env.FILES, this.#load(), name);
  readonly #effects = new Effects(this.ctx, this.env, this.#subscribers, this.#waiters, this.#find);
  readonly #streams = new Streams(
    this.env,
    this.#subscribers,
    this.#effects,
    this.#replacement,
    () => this.#created(),
  );
  readonly #connection = new RunnerConnection(
    this.#effects,
    settings(this.env).patience,
    this.env.FILES,
  );
  readonly #handouts = new Handouts(this.ctx.id.toString(), this.env, this.#effects);
  readonly #removal = new Removal({
    ctx: this.ctx,
    env: this.env,
    effects: this.#effects,
    subscribers: this.#subscribers,
    onForgotten: () => {
      this.#record = undefined;
      this.#creation = undefined;
    },
  });
  readonly #tokenKnownAt = (id: string) => runnerTokenKnownAt(database(this.env.DB), id);

  // ---- for the API

  /** Creates a prediction. With an Idempotency-Key only the first create does. */
  async create(request: CreateRequest): Promise<CreateResult> {
    const { spec, input, wait_seconds, snapshot_chars } = request;
    const reason = await this.#create(spec, input);
    if (reason) return reason;
    const snapshot = await this.waitForEnd(wait_seconds, snapshot_chars);
    // A prediction that lasts has a row by now, or nobody would find it.
    if (snapshot && (await this.#effects.lasting) !== false) return snapshot;
    return { refused: "unavailable" };
  }

  /** @returns why the prediction is not created */
  #create(spec: PredictionSpec, input: string): Promise<NotBegun | undefined> {
    this.#creation ??= this.#begin(spec, input);
    return this.#creation;
  }

  /**
   * Whether the prediction has begun. An object whose prediction has not begun makes sure that it never will.
   */
  async hasBegun(): Promise<boolean> {
    if (await this.#created()) return true;
    this.ctx.storage.kv.put(NEVER, true);
    await this.ctx.storage.setAlarm(Date.now() + NEVER_MS);
    return false;
  }

  /**
   * Returns the result of a create whose answer was lost. The row is written before anybody has the
   * prediction's id.
   * @returns undefined when nothing was created; unavailable when it was, and is canceled
   */
  async confirm(chars: number): Promise<CreateResult | undefined> {
    const record = await this.#created();
    if (!record) return undefined;
    this.#effects.keep(record);
    if ((await this.#effects.lasting) !== false) return this.get(chars);
    return { refused: "unavailable" };
  }

  /**
   * Returns at the end, or after this time. The call returns at once if as many calls wait already as the
   * prediction may have readers: the object cannot tell which of them have disconnected, and a repeated
   * create adds one each time.
   */
  async waitForEnd(seconds: number, chars: number): Promise<Snapshot | undefined> {
    const hasRoom = this.#waiters.size < settings(this.env).maxReaders;
    const mayWait = hasRoom && this.#load()?.life.terminal === false;
    if (seconds > 0 && mayWait) await this.#waiters.wait(seconds);
    return this.get(chars);
  }

  /**
   * Returns the prediction in full, once its end is stored.
   * @param chars a snapshot with more characters has no body
   * @param bareChars a snapshot with more than `chars` has a body without its output, unless that has more
   * than these
   * @param view for the shape of Replicate's API
   */
  async get(chars: number, bareChars = 0, view?: ReplicateView): Promise<Snapshot | undefined> {
    await this.#effects.ending;
    return this.#load()?.snapshot(chars, bareChars, view);
  }

  /** Returns what `get` does, or `larger` for a prediction with more characters. */
  async getUpTo(chars: number): Promise<Snapshot | "larger" | undefined> {
    const snapshot = await this.get(chars);
    return snapshot?.body === null ? "larger" : snapshot;
  }

  /** @returns undefined when the record has been deleted */
  history(hasLogs = true): History | undefined {
    const record = this.#load();
    return record && historyOf(record, hasLogs);
  }

  /** @returns undefined when the record has been deleted */
  runFacts(): RunFacts | undefined {
    const record = this.#load();
    return record && runFactsOf(record);
  }

  /** @returns undefined when the record has been deleted */
  lastRun(): LastRun | undefined {
    const state = this.#load()?.life.state;
    return state && { runner_id: state.attempt?.runner_id ?? null, attempts: state.begun_count };
  }

  /** @returns undefined when the data has been deleted */
  originalRequest(): OriginalRequest | undefined {
    const record = this.#load();
    if (!record || record.life.dataRemoved) return undefined;
    const { call, stream, retention_seconds } = record.life.spec;
    return { call, stream, retention_seconds, input: record.input() };
  }

  async cancel(reason: CancelReason): Promise<CancelResult> {
    return cancel(await this.#created(), this.#effects, reason);
  }

  /**
   * Deletes the data of a prediction that has ended.
   * @param isKnown whether the account knows: the row need not say so
   */
  async remove(isKnown = false): Promise<"removed" | "under way" | "unknown"> {
    const record = await this.#created();
    if (!record || record.life.dataRemoved) return "unknown";
    if (!record.life.terminal) return "under way";
    await this.#removal.purge(record, Date.now(), isKnown);
    return "removed";
  }

  async getRow(): Promise<PredictionUpdate | undefined> {
    const record = this.#load();
    return record && predictionRowOf(record, this.ctx.id.toString());
  }

  /** All webhook deliveries, oldest event first; undefined when the record has been deleted. */
  listDeliveries(): EventDeliveries[] | undefined {
    const record = this.#load();
    return record && deliveriesOf(record);
  }

  /**
   * Returns the body of a webhook event, with what is left of its data; undefined when there is no such
   * event.
   */
  async webhookBody(sequence: number): Promise<string | undefined> {
    const record = this.#load();
    return record && bodyOf(record, sequence, this.#find);
  }

  /**
   * Delivers a webhook event again.
   * @param endpointId to this endpoint only; null is the prediction's own webhook
   * @returns undefined when there is no such event, or the event does not go to that endpoint
   */
  redeliver(sequence: number, endpointId?: string | null): EventDeliveries | undefined {
    const record = this.#load();
    const event = record?.outbox?.redeliver(sequence, Date.now(), endpointId);
    if (!record || !event) return undefined;
    this.#effects.saveDeliveries(record);
    return eventDeliveriesOf(record, event);
  }

  /**
   * Serves `/stream`, `/create`, `/content`, `/replicate`, `/output` and `/log` for readers (stubs/prediction.ts: openStream,
   * createAndFollow, openContent, openLogFile), and `/channel` for runners.
   */
  override async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const { pathname } = url;
    const read = await readResponse(url, () => this.#created(), this.ctx.storage);
    if (read) return read;
    if (pathname === "/channel") {
      const holder: LeaseHolder = JSON.parse(request.headers.get(HOLDER_HEADER) ?? "");
      return this.#connection.connect(await this.#created(), holder);
    }
    return this.#streams.open(request, async () => {
      if (pathname !== "/create") return undefined;
      const { spec, input } = await createRequestIn(request);
      const reason = await this.#create(spec, input);
      // A create with a key is not followed.
      return reason && ("refused" in reason ? reason.refused : "conflict");
    });
  }

  // ---- for the pool

  /**
   * Opens an attempt for a runner that has room.
   * @param unplaced the number of an attempt that was offered and never handed out
   * @param containerKey of the job that has its place
   * @returns undefined when no attempt is needed any more, which is no error
   */
  openAttempt(offered: number | undefined, containerKey: string): Promise<OfferedJob | undefined> {
    return this.#handouts.open(() => this.#load(), offered, containerKey);
  }

  /**
   * Takes back an attempt that its runner has no place for.
   * @returns whether the prediction waits again: the pool then puts it into line
   */
  async takeBack(attempt: number): Promise<boolean> {
    const record = await this.#created();
    return record !== undefined && this.#handouts.takeBack(record, attempt);
  }

  // ---- for the runner

  async input(holder: LeaseHolder): Promise<{ id: string; input: Piece } | undefined> {
    return leasedInput(await this.#created(), holder);
  }

  async mayReadFile(holder: LeaseHolder, key: string): Promise<boolean> {
    return mayReadFile(await this.#created(), holder, key);
  }

  /**
   * Lets the attempt that a lease names write one more object to R2, under the prediction's id.
   * @returns undefined when the attempt has ended
   */
  async beginWrite(holder: LeaseHolder): Promise<WriteGrant | "full" | undefined> {
    return beginWrite(await this.#created(), holder);
  }

  /** @returns undefined when the attempt has ended: the object that the runner was writing must be deleted */
  async continueWrite(holder: LeaseHolder): Promise<WriteGrant | undefined> {
    return continueWrite(await this.#created(), holder);
  }

  /** Takes the only frame of a run that ended before it opened a channel. */
  async report(holder: LeaseHolder, frame: string): Promise<ReportReply> {
    return this.#connection.report(await this.#created(), holder, frame);
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    return this.#connection.receive(this.#load(), socket, message);
  }

  override webSocketClose(socket: WebSocket): void {
    // The platform does not complete the close handshake, and the runner waits for it.
    socket.close(1000);
    this.#connection.disconnected(this.#load(), socket);
  }

  override webSocketError(socket: WebSocket): void {
    this.#connection.disconnected(this.#load(), socket);
  }

  // ---- the alarm

  override async alarm(): Promise<void> {
    const record = await this.#created();
    // An object without a record has promised never to begin: nobody remembers its key by now.
    if (!record) return this.ctx.storage.deleteAll();
    const now = Date.now();
    this.#effects.alarm.disarmed();
    try {
      let due = this.#effects.alarm.due(record, now);
      const owesRow = this.#effects.row.isOwed(record, due);
      for (; due && this.#record; due = this.#effects.alarm.due(record, now)) {
        if (due.kind === "retention") await this.#removal.purge(record, now);
        else if (due.kind === "forget") await this.#removal.forget(record);
        else if (due.kind === "second") await this.#handouts.openSecond(record);
        else if (due.kind === "redispatch" && record.life.spec.remote)
          await this.#handouts.openRemote(record);
        else if (due.kind === "extension") await this.#effects.extend(record);
        else if (due.kind === "token")
          await this.#connection.checkToken(record, this.#tokenKnownAt);
        else handleDeadline(record, due.kind, now, this.#effects, this.#connection);
      }
      // An account that does not take the row is closed: nobody else would remove the data.
      if (owesRow && this.#record && !(await this.#effects.row.write(record)))
        await this.#removal.purge(record, now, true);
      if (this.#record) this.#effects.alarm.arm(record);
    } catch (error) {
      // The platform drops an alarm that throws six times; this one is set again until it succeeds.
      logger.error("Alarm failed", { prediction_id: record.life.spec.id, error });
      this.#effects.alarm.retry(record);
    }
  }

  // ---- creating and loading

  async #begin(spec: PredictionSpec, input: string): Promise<NotBegun | undefined> {
    const write = (life: PredictionLife) => {
      const onKept = () => this.#effects.alarm.arm(record);
      const record = PredictionRecord.create(this.ctx.storage, life, input, onKept);
      this.#record = record;
      return record;
    };
    try {
      // Callers can have asked `hasBegun` only about a prediction whose row was written before it began.
      if ((spec.claim || hasStoredInput(spec)) && this.#neverBegins)
        return { refused: "unavailable" };
      return await this.#handouts.begin(spec, input, write);
    } finally {
      if (!this.#record) this.#creation = undefined;
    }
  }

  get #neverBegins(): boolean {
    return this.ctx.storage.kv.get(NEVER) === true;
  }

  /** Returns the record, for calls that may arrive while it is created, or while its end is stored. */
  async #created(): Promise<PredictionRecord | undefined> {
    await this.#creation?.catch(() => {});
    await this.#effects.ending;
    return this.#load();
  }

  #load(): PredictionRecord | undefined {
    if (this.#record) return this.#record;
    this.#record = PredictionRecord.load(this.ctx.storage, () => {});
    // Channels tell which runners have connected: the record does not save that until they report.
    for (const attempt of this.#effects.channels.attempts)
      this.#record?.life.confirmAttempt(attempt);
    if (this.#record?.life.loseCaller(Date.now())) {
      this.#record.save();
      this.#effects.alarm.arm(this.#record);
    }
    return this.#record;
  }
}
