/**
 * The prediction object: the one owner of a prediction's state, input, output and log. Here are
 * its doors: the API's and the pool's (RPC, and fetch for streams), the runner's (the channel),
 * time's (its one alarm). What may happen is in domain/predictions/life.ts, what follows in effects.ts.
 */
import { DurableObject } from "cloudflare:workers";
import type { LeaseHolder } from "../../domain/predictions/lease.ts";
import type { PredictionLife } from "../../domain/predictions/life.ts";
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { EventsFrame } from "../../protocol/channel.ts";
import { database } from "../../storage/database.ts";
import { runnerTokenKnownAt } from "../../storage/runners/runner-token-cache.ts";
import { Attempts, type Reply } from "./attempts.ts";
import { cancel } from "./cancel.ts";
import { handleDeadline } from "./deadline-handlers.ts";
import { deliveriesOf, type EventDeliveries, eventDeliveriesOf } from "./deliveries.ts";
import { Effects } from "./effects.ts";
import { Handouts } from "./handouts.ts";
import { type History, historyOf } from "./history.ts";
import { type OfferedJob, predictionRowOf } from "./job-messages.ts";
import { leasedInput, mayRead, store, storing } from "./lease-holder.ts";
import type { Piece } from "./log.ts";
import { PredictionRecord, type Snapshot } from "./record.ts";
import { Removal } from "./removal.ts";
import type {
  Asked,
  CancelReason,
  CancelResult,
  CreateRequest,
  CreateResult,
  StoringPrediction,
} from "./rpc-types.ts";
import { findValue, openValue } from "./stored-values.ts";
import { HOLDER_HEADER, streamOptionsOf } from "./stub.ts";
import { Subscribers } from "./subscribers.ts";

export class PredictionObject extends DurableObject<Bindings> {
  #record: PredictionRecord | undefined;
  /** Whether it could begin: waited for by whoever comes while it does. */
  #beginning: Promise<boolean> | undefined;
  readonly #subscribers = new Subscribers({
    page: (after) => this.#load()?.log.page(after),
    last: () => this.#load()?.log.last ?? 0,
    ended: () => this.#load()?.life.terminal ?? true,
    open: (name) => openValue(this.env.FILES, this.#load(), name),
  });
  readonly #effects = new Effects(this.ctx, this.env, this.#subscribers, (name) =>
    findValue(this.env.FILES, this.#load(), name),
  );
  readonly #attempts = new Attempts(this.#effects, settings(this.env).patience);
  readonly #handOuts = new Handouts(this.ctx.id.toString(), this.env, this.#effects);
  readonly #removal = new Removal({
    ctx: this.ctx,
    env: this.env,
    effects: this.#effects,
    subscribers: this.#subscribers,
    forgotten: () => {
      this.#record = undefined;
      this.#beginning = undefined;
    },
  });
  readonly #tokenKnownAt = (id: string) => runnerTokenKnownAt(database(this.env.DB), id);

  // ---- the API's doors

  /** Begins a prediction, or finds it: under one Idempotency-Key only the first call begins it. */
  async create({ spec, input, wait }: CreateRequest): Promise<CreateResult> {
    this.#beginning ??= this.#beginOrFind(spec, input);
    if (!(await this.#beginning)) return { refused: "full" };
    const hash = this.#load()?.life.spec.request_hash;
    if (hash !== undefined && hash !== spec.request_hash) return { refused: "conflict" };
    return (await this.wait(wait)) ?? { refused: "full" };
  }

  /** The prediction that an Idempotency-Key began here after `since`, if there is one. */
  repeat(requestHash: string | null, since: number): CreateResult | undefined {
    const record = this.#load();
    if (!record || record.life.spec.created_at < since) return undefined;
    return record.life.spec.request_hash === requestHash
      ? record.snapshot()
      : { refused: "conflict" };
  }

  /**
   * Waits for the end, at most `ms`; not at all beside as many others as it may have readers: it
   * cannot tell who has left, and an Idempotency-Key finds it any number of times.
   */
  async wait(ms: number): Promise<Snapshot | undefined> {
    const { waiters } = this.#effects;
    const hasRoom = waiters.size < settings(this.env).maxReaders;
    if (ms > 0 && hasRoom && this.#load()?.life.terminal === false) await waiters.wait(ms);
    return this.get();
  }

  get(): Snapshot | undefined {
    return this.#load()?.snapshot();
  }

  /** undefined when nothing is kept of it any more. */
  history(): History | undefined {
    const record = this.#load();
    return record && historyOf(record);
  }

  /** undefined when its data is gone. */
  asked(): Asked | undefined {
    const record = this.#load();
    if (!record || record.life.dataRemoved) return undefined;
    const { call, stream, retention_seconds } = record.life.spec;
    return { call, stream, retention_seconds, input: record.input() };
  }

  async cancel(reason: CancelReason): Promise<CancelResult> {
    return cancel(await this.#begun(), this.#effects, reason);
  }

  /** Cancels what its caller was never given: it is told to nobody. */
  async abandon(): Promise<void> {
    const record = await this.#begun();
    if (!record) return;
    record.life.suppressWebhooks();
    record.save();
    cancel(record, this.#effects, "it could not be created");
  }

  /**
   * Removes all that is kept of a prediction that has ended.
   * @returns the row as it is then (as of `project`)
   */
  async remove(): Promise<{ removed: object } | "under way" | "unknown"> {
    const record = await this.#begun();
    if (!record || record.life.dataRemoved) return "unknown";
    if (!record.life.terminal) return "under way";
    await this.#removal.purge(record, Date.now());
    return { removed: { ...predictionRowOf(record, this.ctx.id.toString()), data_removed: true } };
  }

  /** The row as it should be, a ProjectionMessage (whose type is too deep for that of RPC). */
  project(): object | undefined {
    const record = this.#load();
    return record && predictionRowOf(record, this.ctx.id.toString());
  }

  /** What was told to whom, oldest first; undefined when nothing is kept of it any more. */
  ledger(): EventDeliveries[] | undefined {
    const record = this.#load();
    return record && deliveriesOf(record);
  }

  /**
   * Tells of an event once more.
   * @param endpointId only there; null is the prediction's own webhook
   * @returns undefined when there is no such event, or it does not go there
   */
  redeliver(sequence: number, endpointId?: string | null): EventDeliveries | undefined {
    const record = this.#load();
    const event = record?.outbox?.redeliver(sequence, Date.now(), endpointId);
    if (!record || !event) return undefined;
    this.#effects.delivered(record);
    return eventDeliveriesOf(record, event);
  }

  /** `/stream?after=&idle=&lasts=&leave=&reader=` for readers, `/channel` for runners. */
  override async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const record = await this.#begun();
    if (url.pathname === "/channel") {
      const holder: LeaseHolder = JSON.parse(request.headers.get(HOLDER_HEADER) ?? "");
      return this.#attempts.connect(record, holder);
    }
    if (!record || record.life.dataRemoved) return new Response(null, { status: 404 });
    const { after, leave, ...limits } = streamOptionsOf(url);
    if (record.life.terminal && after >= record.log.last)
      return new Response(null, { status: 204 });
    if (this.#subscribers.size >= settings(this.env).maxReaders)
      return new Response(null, { status: 429 });
    const gone = () => void cancel(this.#load(), this.#effects, "its caller has left");
    const onLeave = leave && gone;
    // While it was begun: to a stream that nobody takes nothing happens any more.
    if (request.signal.aborted) onLeave?.();
    return new Response(this.#subscribers.subscribe(after, limits, onLeave));
  }

  /** Ends the stream of a reader who may read no more, with these last words. */
  endReader(reader: string, words: string): void {
    this.#subscribers.end(reader, words);
  }

  // ---- the pool's door

  /**
   * Opens an attempt for a runner that has room.
   * @param unplaced the number of an attempt that was offered and never handed out.
   * @returns undefined when none is wanted any more: an ordinary answer.
   */
  openAttempt(unplaced: number | undefined): Promise<OfferedJob | undefined> {
    return this.#handOuts.open(() => this.#load(), unplaced);
  }

  // ---- the runner's doors

  /** The input of the attempt that a lease names. */
  async input(holder: LeaseHolder): Promise<{ id: string; input: Piece } | undefined> {
    return leasedInput(await this.#begun(), holder);
  }

  /** Whether the attempt that a lease names may read this file: its input names it. */
  async mayRead(holder: LeaseHolder, key: string): Promise<boolean> {
    return mayRead(await this.#begun(), holder, key);
  }

  /**
   * Lets the attempt that a lease names write one thing more to R2, below this prediction's id.
   * @returns undefined when the attempt has ended
   */
  async store(holder: LeaseHolder): Promise<StoringPrediction | "full" | undefined> {
    return store(await this.#begun(), holder);
  }

  /** @returns undefined when the attempt has ended: what it was writing is to go again. */
  async storing(holder: LeaseHolder): Promise<StoringPrediction | undefined> {
    return storing(await this.#begun(), holder);
  }

  /** A run's only frame, when it has ended before a channel was worth opening. */
  async report(holder: LeaseHolder, frame: EventsFrame): Promise<Reply> {
    return this.#attempts.report(await this.#begun(), holder, frame);
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void {
    this.#attempts.receive(this.#load(), socket, message);
  }

  override webSocketClose(socket: WebSocket): void {
    // Nobody else answers a close, and the runner waits for the answer.
    socket.close(1000);
    this.#attempts.disconnected(this.#load(), socket);
  }

  override webSocketError(socket: WebSocket): void {
    this.#attempts.disconnected(this.#load(), socket);
  }

  // ---- time's door

  override async alarm(): Promise<void> {
    const record = this.#load();
    if (!record) return;
    const now = Date.now();
    this.#effects.alarm.disarmed();
    try {
      let due = this.#effects.alarm.due(record, now);
      // A finished one that is woken for nothing else has not delivered its row yet.
      const owesRow = this.#effects.owesRow(record, due);
      for (; due && this.#record; due = this.#effects.alarm.due(record, now)) {
        if (due.kind === "retention") await this.#removal.purge(record, now);
        else if (due.kind === "forget") await this.#removal.forget(record);
        else if (due.kind === "second") await this.#handOuts.second(record);
        else if (due.kind === "token") await this.#attempts.vouch(record, this.#tokenKnownAt);
        else handleDeadline(record, due.kind, now, this.#effects, this.#attempts);
      }
      if (owesRow && this.#record) await this.#effects.project(record);
      if (this.#record) this.#effects.alarm.arm(record);
    } catch (error) {
      // An alarm that throws is dropped after six tries; this one is set again for as long as it takes.
      logger.error("Alarm failed", { prediction_id: record.life.spec.id, error });
      this.#effects.alarm.retry(record);
    }
  }

  // ---- its beginning, and where it is kept

  async #beginOrFind(spec: PredictionSpec, input: string): Promise<boolean> {
    const write = (life: PredictionLife) => {
      this.#record = PredictionRecord.create(this.ctx.storage.sql, life, input);
      return this.#record;
    };
    let begun = false;
    try {
      // Without a key nothing can have been here before, and there is no database to look into.
      const found = spec.request_hash !== null && this.#load() !== undefined;
      begun = found || (await this.#handOuts.begin(spec, input, write));
    } finally {
      if (!begun) this.#beginning = undefined;
    }
    return begun;
  }

  /** The record, for whoever may come while it is being begun. */
  async #begun(): Promise<PredictionRecord | undefined> {
    await this.#beginning?.catch(() => false);
    return this.#load();
  }

  #load(): PredictionRecord | undefined {
    if (this.#record) return this.#record;
    this.#record = PredictionRecord.load(this.ctx.storage.sql);
    // Who has only connected is not written down as heard.
    for (const attempt of this.#effects.channels.attempts)
      this.#record?.life.confirmAttempt(attempt);
    return this.#record;
  }
}
