/**
 * The prediction object: the one owner of a prediction's state, input, output and log. The API
 * reaches it over RPC (and fetch, for streams), its runner over the channel, time through its one
 * alarm. Here are only these doors; what may happen is in domain/prediction.ts, what is kept in
 * record.ts, and what follows in `#commit`.
 */
import { DurableObject } from "cloudflare:workers";
import { type Deadline, deadlines, earliest } from "../../domain/deadlines.ts";
import { parseLease } from "../../domain/lease.ts";
import { PredictionLife, type PredictionSpec } from "../../domain/prediction.ts";
import { sameText } from "../../domain/secret.ts";
import type { Bindings } from "../../env.ts";
import { CLOSE, type EventsFrame, type UpFrame, upFrame } from "../../protocol/channel.ts";
import type { LogEvent } from "../../protocol/event.ts";
import { LEASE_HEADER } from "../../protocol/runner.ts";
import { poolOf } from "../pool/stub.ts";
import { Channels, close, fence, send } from "./channels.ts";
import type { Totals } from "./log.ts";
import { jobOf, type OfferedJob, projectionOf, waitingJobOf } from "./messages.ts";
import { PredictionRecord } from "./record.ts";
import { Subscribers } from "./subscribers.ts";
import { Waiters } from "./waiters.ts";

export interface CreateRequest {
  spec: PredictionSpec;
  /** JSON text. */
  input: string;
  /** How long to wait for the end, ms. */
  wait: number;
}

/** A prediction in its full form, as JSON text: it is large, and only ever passed on. */
export interface Snapshot {
  id: string;
  terminal: boolean;
  body: string;
}

export type CreateResult = Snapshot | { refused: "conflict" | "full" };
export type CancelResult = "accepted" | "terminal" | "unknown";

interface Commit {
  events?: LogEvent[];
  totals?: Totals;
  /** Whether the record has changed, beside the log. */
  changed?: boolean;
  /** Whether it is the runner itself that ended it: it learns so by its ack. */
  finished?: boolean;
}

/** A run that ends within this needs no row that says `started`. */
const STARTED_PROJECTION_MS = 2_000;
const RETRY_MS = 10_000;

export class PredictionObject extends DurableObject<Bindings> {
  readonly #channels = new Channels(this.ctx);
  readonly #waiters = new Waiters();
  #record: PredictionRecord | undefined;
  /** What the alarm is set to, as far as this instance knows. */
  #alarmAt = Number.POSITIVE_INFINITY;
  readonly #subscribers = new Subscribers({
    page: (after) => this.#load()?.log.page(after),
    end: () => (this.#record?.life.terminal ? this.#record.log.last : undefined),
  });

  // ---- the API's doors

  /** Begins a prediction, or finds it: under one Idempotency-Key only the first call begins it. */
  async create({ spec, input, wait }: CreateRequest): Promise<CreateResult> {
    const found = this.#load();
    if (found && found.life.spec.request_hash !== spec.request_hash) return { refused: "conflict" };
    if (!found && !(await this.#begin(spec, input))) return { refused: "full" };
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

  /** Waits for the end, at most `ms`. */
  async wait(ms: number): Promise<Snapshot | undefined> {
    if (ms > 0 && this.#load()?.life.terminal === false) await this.#waiters.wait(ms);
    return this.get();
  }

  get(): Snapshot | undefined {
    return this.#load()?.snapshot();
  }

  cancel(): CancelResult {
    const record = this.#load();
    if (!record) return "unknown";
    const repeated = record.life.state.cancel_requested_at !== null;
    if (!record.life.requestCancel(Date.now())) return "terminal";
    if (!repeated) this.#commit(record);
    this.#tellCancel(record, "canceled by its owner");
    return "accepted";
  }

  /** The row as it should be, a ProjectionMessage (whose type is too deep for that of RPC). */
  project(): object | undefined {
    const record = this.#load();
    return record && projectionOf(record, this.ctx.id.toString());
  }

  /** `/stream?after=&idle=` for readers, `/channel` for runners. */
  override async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === "/channel") return this.#connect(request);
    const record = this.#load();
    if (!record) return new Response(null, { status: 404 });
    const after = Number(url.searchParams.get("after") ?? 0);
    const idle = url.searchParams.get("idle");
    if (record.life.terminal && after >= record.log.last)
      return new Response(null, { status: 204 });
    return new Response(
      this.#subscribers.subscribe(after, idle === null ? undefined : Number(idle)),
    );
  }

  // ---- the pool's door

  /**
   * Opens an attempt for a runner that has room.
   * @param unplaced the number of an attempt that was offered and never handed out.
   * @returns undefined when none is wanted any more: an ordinary answer.
   */
  openAttempt(unplaced: number | undefined): OfferedJob | undefined {
    const record = this.#load();
    if (!record) return undefined;
    const now = Date.now();
    if (unplaced !== undefined) record.life.closeAttempt(unplaced, now);
    const attempt = record.life.openAttempt(crypto.randomUUID(), now);
    if (!attempt) return undefined;
    this.#commit(record);
    return jobOf(record, attempt, this.ctx.id.toString());
  }

  // ---- the runner's doors

  /** The input of the attempt that a lease names, as JSON text. */
  input(leaseText: string): string | undefined {
    const record = this.#load();
    return record && attemptOf(record, leaseText) ? record.input() : undefined;
  }

  #connect(request: Request): Response {
    const record = this.#load();
    const leaseText = request.headers.get(LEASE_HEADER) ?? "";
    const attempt = record && attemptOf(record, leaseText);
    if (!attempt) return new Response("The attempt has ended.", { status: 409 });
    const response = this.#channels.accept(attempt, record.log.seqOf(attempt), Date.now());
    if (record.life.terminal) this.#channels.fence(`the prediction is ${record.life.state.status}`);
    else if (record.life.state.cancel_requested_at !== null) this.#tellCancel(record, "canceled");
    return response;
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void {
    const record = this.#load();
    const attempt = this.#channels.attemptOf(socket);
    if (!record) return fence(socket, "the prediction is gone");
    const frame = parseFrame(message);
    if (!frame) return close(socket, CLOSE.badFrame, "not a frame of the channel's protocol");
    const kept = record.log.seqOf(attempt);
    if (frame.type === "events" && frame.seq <= kept)
      return send(socket, { type: "ack", seq: kept });
    if (!record.life.owns(attempt)) return fence(socket, `attempt ${attempt} has ended`);
    const now = Date.now();
    this.#channels.heard(now);
    if (frame.type === "release") return this.#release(record, now);
    if (frame.seq !== kept + 1) {
      return close(socket, CLOSE.badFrame, `frame ${kept + 1} comes next, not ${frame.seq}`);
    }
    this.#report(record, frame, attempt, now);
    send(socket, { type: "ack", seq: frame.seq });
  }

  override webSocketClose(socket: WebSocket): void {
    this.#disconnected(socket);
  }

  override webSocketError(socket: WebSocket): void {
    this.#disconnected(socket);
  }

  // ---- time's door

  override async alarm(): Promise<void> {
    const record = this.#load();
    if (!record) return;
    const now = Date.now();
    this.#alarmAt = Number.POSITIVE_INFINITY;
    try {
      let due = this.#due(record, now);
      // A finished one that is woken before its retention ends has not delivered its row yet.
      if (record.life.terminal && !due) await this.#project(record);
      for (; due && this.#record; due = this.#due(record, now)) await this.#meet(record, due, now);
      if (this.#record) this.#arm(record);
    } catch (error) {
      // An alarm that throws is dropped after six tries; this one is set again for as long as it takes.
      console.error("alarm failed", { id: record.life.spec.id, error: String(error) });
      await this.ctx.storage.setAlarm(now + RETRY_MS);
    }
  }

  #due(record: PredictionRecord, now: number): Deadline | undefined {
    return deadlines(record.life, this.#heardAt(record)).find(({ at }) => at <= now);
  }

  async #meet(record: PredictionRecord, { what }: Deadline, now: number): Promise<void> {
    const { life } = record;
    const { spec, state } = life;
    if (life.terminal && what !== "retention") return;
    switch (what) {
      case "wait":
        life.requestCancel(now);
        this.#commit(record);
        return this.#tellCancel(record, "the wait that its creator allowed is over");
      case "queue":
        life.fail(
          "internal",
          `No runner of hardware '${spec.hardware}' took it within ${spec.queue_timeout_seconds} s.`,
          now,
        );
        return this.#commit(record);
      case "redispatch":
        return this.#dispatch(record, now);
      case "connect":
        if (state.attempt && life.closeAttempt(state.attempt.number, now))
          this.#dispatch(record, now);
        return;
      case "lease":
        return this.#leaseEnded(record, now);
      case "setup":
        life.fail(
          "external",
          `The container was not ready within ${spec.setup_timeout_seconds} s.`,
          now,
        );
        return this.#commit(record);
      case "run":
        life.fail("external", `The model did not finish within ${spec.timeout_seconds} s.`, now);
        return this.#commit(record);
      case "cancel":
        life.enforceCancel(now);
        return this.#commit(record);
      case "retention":
        return this.#purge(record);
    }
  }

  // ---- what happens

  /** @returns false when the pool takes no more waiting jobs of this account. */
  async #begin(spec: PredictionSpec, input: string): Promise<boolean> {
    const now = Date.now();
    const life = PredictionLife.create(spec);
    const attempt = life.openAttempt(crypto.randomUUID(), now);
    const record = PredictionRecord.create(this.ctx.storage.sql, life, input);
    this.#record = record;
    this.#arm(record);
    if (!attempt) return true;
    const job = jobOf(record, attempt, this.ctx.id.toString(), input);
    const waiting = waitingJobOf(record, this.ctx.id.toString());
    const answer = await poolOf(this.env, spec.hardware)
      .offer(job, waiting)
      .catch(() => "none" as const);
    if (answer === "taken") return true;
    if (answer === "full") {
      await this.#forget();
      return false;
    }
    if (life.closeAttempt(attempt.number, Date.now())) this.#dispatch(record, Date.now());
    return true;
  }

  #report(record: PredictionRecord, frame: EventsFrame, attempt: number, now: number): void {
    const { life, log } = record;
    const { limits } = life.spec;
    life.start(now);
    const events: LogEvent[] = life.takeEvents();
    const started = events.length > 0;
    let changed = started;
    for (const reported of frame.events) {
      if (reported.event === "metrics") life.mergeMetrics(reported.data);
      if (reported.event === "setup" && reported.data.phase === "ready") life.ready(now);
      changed ||= reported.event === "metrics" || reported.event === "setup";
    }
    events.push(...frame.events);
    const totals = log.totalsWith(attempt, frame.seq, frame.events);
    if (
      totals.output_bytes > limits.output_bytes * 1.1 ||
      totals.logs_bytes > limits.logs_bytes * 1.1
    ) {
      // The runner keeps these limits itself, exactly: this one does not.
      life.fail("internal", "The runner sent more output than a prediction may have.", now);
      return this.#commit(record);
    }
    if (frame.finish) life.finish(frame.finish, now);
    const finished = frame.finish !== undefined;
    this.#commit(record, { events, totals, changed: changed || finished, finished });
    if (started) this.#projectStarted(record);
  }

  #release(record: PredictionRecord, now: number): void {
    record.life.release(record.produced, now);
    this.#channels.fence("handed back");
    if (record.life.waiting) this.#dispatch(record, now);
    else this.#commit(record);
  }

  #leaseEnded(record: PredictionRecord, now: number): void {
    const { life } = record;
    const { attempt } = life.state;
    if (!attempt) return;
    if (
      this.#channels.heardAt(attempt.number) === null &&
      attempt.heard_at === null &&
      !attempt.grace
    ) {
      // The object itself was restarted, and the channel with it: the runner gets one lease to return.
      attempt.grace = true;
      attempt.heard_at = now;
      return record.save();
    }
    life.lose(record.produced, now);
    if (life.waiting) {
      this.#channels.fence("the lease has ended");
      this.#dispatch(record, now);
    } else this.#commit(record);
  }

  #disconnected(socket: WebSocket): void {
    const record = this.#load();
    const attempt = record?.life.state.attempt;
    if (!record?.life.owns(this.#channels.attemptOf(socket)) || !attempt) return;
    attempt.heard_at = Date.now();
    record.save();
  }

  #tellCancel(record: PredictionRecord, reason: string): void {
    const { attempt } = record.life.state;
    if (attempt && !record.life.terminal)
      this.#channels.tell(attempt.number, { type: "cancel", reason });
  }

  /** Asks the dispatch queue for a runner. A message that is lost is sent again by the alarm. */
  #dispatch(record: PredictionRecord, now: number): void {
    record.life.dispatched(now);
    this.#commit(record);
    const message = waitingJobOf(record, this.ctx.id.toString());
    this.ctx.waitUntil(
      this.env.DISPATCH.send(message).catch((error) =>
        console.warn("dispatch not sent", { id: record.life.spec.id, error: String(error) }),
      ),
    );
  }

  /** Writes what has changed and lets everything follow from it. */
  #commit(
    record: PredictionRecord,
    { events = [], totals, changed = true, finished = false }: Commit = {},
  ): void {
    const { life, log } = record;
    const all = [...events, ...life.takeEvents()];
    const ended = life.terminal && all.length > 0;
    if (ended) all.push({ event: "done", data: record.present() });
    if (changed) record.save();
    const encoded = all.length > 0 ? log.append(all, totals) : undefined;
    this.#arm(record);
    if (encoded) this.#subscribers.publish(encoded);
    if (!ended) return;
    this.#waiters.release();
    const objectId = this.ctx.id.toString();
    this.ctx.waitUntil(
      this.#project(record).catch(() => this.ctx.storage.setAlarm(Date.now() + RETRY_MS)),
    );
    if (!finished) this.#channels.fence(`the prediction is ${life.state.status}`);
    if (life.state.dispatches > 0 && !life.state.attempt) {
      this.ctx.waitUntil(
        poolOf(this.env, life.spec.hardware)
          .withdraw(objectId)
          .catch(() => {}),
      );
    }
  }

  #heardAt(record: PredictionRecord): number | null {
    const { attempt } = record.life.state;
    return attempt && this.#channels.heardAt(attempt.number);
  }

  /** Sets the alarm when it would come too late, and for good at the end: an early one sets itself anew. */
  #arm(record: PredictionRecord): void {
    const at = earliest(deadlines(record.life, this.#heardAt(record)));
    if (at === this.#alarmAt || (at > this.#alarmAt && !record.life.terminal)) return;
    this.#alarmAt = at;
    this.ctx.waitUntil(this.ctx.storage.setAlarm(at));
  }

  #project(record: PredictionRecord): Promise<unknown> {
    return this.env.PROJECTION.send(projectionOf(record, this.ctx.id.toString()));
  }

  /** The row of a run that lasts says `started`. */
  #projectStarted(record: PredictionRecord): void {
    setTimeout(() => {
      if (record.life.state.status === "started")
        this.ctx.waitUntil(this.#project(record).catch(() => {}));
    }, STARTED_PROJECTION_MS);
  }

  async #purge(record: PredictionRecord): Promise<void> {
    await this.env.PROJECTION.send({
      ...projectionOf(record, this.ctx.id.toString()),
      data_removed: true,
    });
    await this.#forget();
  }

  async #forget(): Promise<void> {
    this.#record = undefined;
    this.#alarmAt = Number.POSITIVE_INFINITY;
    await this.ctx.storage.deleteAll();
  }

  #load(): PredictionRecord | undefined {
    this.#record ??= PredictionRecord.load(this.ctx.storage.sql);
    return this.#record;
  }
}

/** The attempt that a lease names, when the lease is right: also of one that has ended. */
function attemptOf({ life }: PredictionRecord, leaseText: string): number | undefined {
  const lease = parseLease(leaseText);
  const { attempt } = life.state;
  if (!lease || !attempt || lease.attempt !== attempt.number) return undefined;
  return sameText(lease.secret, attempt.secret) ? attempt.number : undefined;
}

function parseFrame(message: string | ArrayBuffer): UpFrame | undefined {
  if (typeof message !== "string") return undefined;
  try {
    return upFrame.parse(JSON.parse(message));
  } catch {
    return undefined;
  }
}
