/** One prediction in memory: its life, its log and its webhooks, and how they are stored. */
import type { WebhookDeadline } from "../../domain/predictions/deadlines.ts";
import { PredictionLife } from "../../domain/predictions/life.ts";
import { logFile } from "../../domain/predictions/log-text.ts";
import { presentPrediction } from "../../domain/predictions/state.ts";
import { replicateHead } from "../../domain/replicate/prediction.ts";
import {
  destinationsOf,
  Outbox,
  type OutboxEvent,
  type WebhookEvent,
} from "../../domain/webhooks/outbox.ts";
import {
  arrayPieces,
  type JsonPieces,
  joined,
  objectPieces,
  textPieces,
} from "../../lib/json-splice.ts";
import type { Finish } from "../../protocol/channel.ts";
import type { StoredValue } from "../../protocol/event.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import type { WebhookEventName } from "../../protocol/webhook.ts";
import type { Piece } from "../stubs/content.ts";
import type { ReplicateView, Snapshot } from "../stubs/prediction.ts";
import { type Before, EventLog, PublishWatermark } from "./log.ts";
import { Entries, encodeEvents } from "./log-events.ts";
import { LogRows } from "./log-rows.ts";

const NEVER = Number.POSITIVE_INFINITY;

export class PredictionRecord {
  /** Whether all of the record is deleted: others may still hold it. */
  isForgotten = false;
  readonly life: PredictionLife;
  readonly log: EventLog;
  readonly shown: PublishWatermark;
  /** Undefined when the prediction has no webhook destinations. */
  readonly outbox: Outbox | undefined;
  readonly #entries: Entries;
  readonly #outboxStore: OutboxStore | undefined;
  readonly #outputSoFar: OutputSoFar;

  private constructor(life: PredictionLife, log: EventLog, entries: Entries, sql: SqlStorage) {
    this.life = life;
    this.log = log;
    this.shown = new PublishWatermark(log.stored);
    this.#entries = entries;
    this.#outputSoFar = new OutputSoFar(log);
    const destinations = destinationsOf(life.spec);
    if (destinations.length === 0) return;
    this.#outboxStore = new OutboxStore(sql);
    this.outbox = new Outbox(destinations, this.#outboxStore.load());
  }

  /**
   * Creates a record that is stored when it is kept, or at the end of the prediction.
   * @param input JSON text; empty when it lies in R2
   * @param onKept called with what `keep` writes
   */
  static create(
    storage: DurableObjectStorage,
    life: PredictionLife,
    input: string,
    onKept: () => void,
  ): PredictionRecord {
    const { spec } = life;
    const state = JSON.stringify(life.state);
    const events = encodeEvents(life.takeEvents());
    const firstRow = LogRows.first(events, state);
    const entries = Entries.create(storage.kv, onKept, { spec, input, firstRow });
    const log = EventLog.begin(LogRows.begin(entries, state), events.length);
    return new PredictionRecord(life, log, entries, storage.sql);
  }

  /** @returns undefined when nothing was created here, or the record has been deleted */
  static load(storage: DurableObjectStorage, onKept: () => void): PredictionRecord | undefined {
    const loaded = Entries.load(storage.kv, onKept);
    if (!loaded) return undefined;
    const { spec, entries } = loaded;
    const { rows, end, state } = LogRows.load(entries);
    const life = new PredictionLife(spec, state);
    const log = EventLog.load(rows, end, beforeOf(life));
    return new PredictionRecord(life, log, entries, storage.sql);
  }

  /** Stores what was in memory alone: the prediction lasts. */
  keep(): void {
    this.#entries.keep();
  }

  /** Stores the state and the log together, so that the state never knows of an event that is not stored. */
  save(): void {
    const write = () => this.log.store(JSON.stringify(this.life.state));
    if (this.life.terminal) this.#entries.end(write);
    else write();
  }

  /** @returns the events that have changed */
  saveOutbox(): OutboxEvent[] {
    const { changed, dropped } = this.outbox?.takeChanges() ?? { changed: [], dropped: [] };
    if (changed.length > 0) this.log.store();
    this.#outboxStore?.save(changed, dropped);
    return changed;
  }

  /** Deletes input, output and events; spec and state stay. */
  removeData(forgetAt: number): void {
    this.life.removeData(forgetAt);
    this.outbox?.forgetResponses();
    this.saveOutbox();
    this.#entries.end(() => {
      this.#entries.removeData();
      this.log.store(JSON.stringify(this.life.state));
    });
  }

  /** How many outputs the last attempt has reported. */
  get outputs(): number {
    const { attempt, outputs } = this.log.totals;
    return attempt === this.life.outputAttempt ? outputs : 0;
  }

  /** The last event that readers may see. */
  get lastShown(): number {
    return this.shown.upTo(this.log.last);
  }

  /** Whether readers may see the end. */
  get isAllShown(): boolean {
    return this.life.terminal && this.lastShown === this.log.last;
  }

  /** Whether output of the open attempt was already visible. */
  get produced(): boolean {
    return this.life.state.attempt !== null && this.outputs > 0;
  }

  input(): Piece {
    return this.life.spec.stored_input ?? this.#entries.input();
  }

  present(): Prediction {
    return presentPrediction(this.life.spec, this.life.state);
  }

  /**
   * Returns the prediction in full.
   * @param most characters of text; a snapshot with more has no body
   * @param mostBare characters of text without the output; with at most these the body has null as its output
   */
  snapshot(most: number, mostBare = 0, view?: ReplicateView): Snapshot {
    const { spec, state, terminal } = this.life;
    const { id, call, created_at } = spec;
    const body =
      upTo(most, this.content(undefined, view)) ?? upTo(mostBare, this.content(["null"], view));
    const { status, stored } = state;
    return { id, call, created_at, terminal, status, stored, body };
  }

  /**
   * Yields the JSON of the prediction, as of the first piece. Each row of a large log is read when its piece
   * is asked for, and other work may run in between.
   * @param output in place of the prediction's own
   * @param view for the shape of Replicate's API, which has the log
   * @throws Error when its data is deleted meanwhile
   */
  *content(output?: Piece[], view?: ReplicateView): Generator<Piece> {
    const { state, outputAttempt, dataRemoved } = this.life;
    const members = view
      ? this.replicateHead(this.present(), view)
      : { ...this.present(), data_removed: dataRemoved };
    const outputs = this.log.outputsByRow(outputAttempt);
    const logs = view && logFile(this.log.textsByRow());
    yield* objectPieces<StoredValue>(
      members,
      dataRemoved
        ? { input: ["null"], output: ["null"], ...(view && { logs: ["null"] }) }
        : {
            input: [this.input()],
            output: output ?? outputOf(state.output, outputs),
            ...(logs && { logs: textPieces(logs) }),
          },
    );
    if (this.isForgotten || this.life.dataRemoved !== dataRemoved)
      throw new Error("The data of the prediction was deleted while it was read.");
  }

  /** @param prediction as it is now, or was at an event */
  replicateHead(prediction: Prediction, view: ReplicateView) {
    const { spec, state, dataRemoved } = this.life;
    return replicateHead(prediction, {
      ...view,
      origin: new URL(spec.url).origin,
      model_id: spec.model_id,
      token_id: spec.token_id,
      data_removed: dataRemoved,
      started_at: state.attempt?.started_at ?? null,
      cancel_at: spec.cancel_at,
      webhook: spec.webhook,
    });
  }

  /** Yields the JSON of the output, in the same way. */
  *wholeOutput(): Generator<Piece> {
    const { state, outputAttempt, dataRemoved } = this.life;
    if (dataRemoved) return yield "null";
    yield* outputOf(state.output, this.log.outputsByRow(outputAttempt));
    this.#assertKept();
  }

  #assertKept(): void {
    if (this.isForgotten || this.life.dataRemoved)
      throw new Error("The data of the prediction was deleted while it was read.");
  }

  /** Yields the whole log as a text file. Each row is read when its text is asked for. */
  *logFile(): Generator<string> {
    yield* logFile(this.log.textsByRow());
    this.#assertKept();
  }

  /** Identifies the content: it changes whenever the content does. */
  get contentVersion(): string {
    const { state, outputAttempt, dataRemoved } = this.life;
    return JSON.stringify([
      this.present(),
      dataRemoved,
      state.output,
      outputAttempt,
      this.log.stored,
    ]);
  }

  /** A webhook event about the present state, as of the last event of the log: the event is saved with it. */
  webhookEvent(event: WebhookEventName, at: number): WebhookEvent {
    const { outputs } = this;
    return {
      sequence: this.log.last,
      event,
      at,
      prediction: this.present(),
      attempt: this.life.outputAttempt,
      output: this.life.state.output,
      outputs,
      output_bytes: outputs > 0 ? this.log.totals.output_bytes : 0,
    };
  }

  /**
   * When the next `output` webhook is due. Nothing is due after the end: `completed` has all of the output.
   */
  get outputWebhookAt(): number {
    const { terminal, state } = this.life;
    if (!this.outbox || terminal || state.webhooks_suppressed) return NEVER;
    return this.outbox.outputAt(this.outputs);
  }

  get webhookDeadline(): WebhookDeadline | undefined {
    const { outbox } = this;
    return (
      outbox && { at: Math.min(outbox.dueAt(), this.outputWebhookAt), pending: outbox.pending }
    );
  }

  /** Whether a webhook is still to be delivered or a runner may still connect: the record must be kept. */
  get awaited(): boolean {
    return this.outbox?.pending === true || this.life.state.dismissed.length > 0;
  }

  /** The output as of an earlier event. It is kept in memory, so not for large outputs. */
  outputAsOf({ attempt, output, sequence }: WebhookEvent): JsonPieces<StoredValue> {
    if (output === "value")
      return joined(outputOf(output, this.log.outputsByRow(attempt, sequence)));
    const pieces = joined(outputOf(output, this.#outputSoFar.upTo(attempt, sequence)));
    if (this.life.terminal) this.#outputSoFar.forget();
    return pieces;
  }
}

/** Returns the assumptions of an object that loads this about the instance before it. */
export function beforeOf({ state, terminal }: PredictionLife): Before {
  const { attempt, taken_back } = state;
  const atWork = !terminal && (attempt !== null || taken_back);
  return { atWork, unstarted: attempt?.number === 1 && attempt.started_at === null };
}

/** The output that values make up; a list includes those before a run failed. */
function* outputOf(output: Finish["output"], values: Iterable<Piece>): Generator<Piece> {
  if (output !== "value") return yield* arrayPieces(values, output === "items" ? "[]" : "null");
  let last: Piece = "null";
  for (const value of values) last = value;
  yield last;
}

/** @returns null if the texts have more characters */
function upTo(most: number, pieces: Iterable<Piece>): Snapshot["body"] {
  const taken: Piece[] = [];
  let chars = 0;
  for (const piece of pieces) {
    taken.push(piece);
    if (typeof piece === "string") chars += piece.length;
    if (chars > most) return null;
  }
  return joined(taken);
}

/**
 * The stored webhook events of a prediction, a row each. Only predictions with destinations have the
 * table: creating it costs 0.2 ms.
 */

interface Row extends Record<string, SqlStorageValue> {
  body: string;
}

class OutboxStore {
  readonly #sql: SqlStorage;
  #exists: boolean;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    const table = "SELECT 1 FROM sqlite_master WHERE name = 'webhook'";
    this.#exists = sql.exec(table).toArray().length > 0;
  }

  load(): OutboxEvent[] {
    if (!this.#exists) return [];
    const rows = this.#sql.exec<Row>("SELECT body FROM webhook ORDER BY sequence");
    return Array.from(rows, ({ body }) => JSON.parse(body));
  }

  save(changed: OutboxEvent[], dropped: number[]): void {
    if (changed.length > 0 && !this.#exists) {
      this.#sql.exec("CREATE TABLE webhook (sequence INTEGER PRIMARY KEY, body TEXT NOT NULL)");
      this.#exists = true;
    }
    for (const event of changed) {
      const row = "INSERT OR REPLACE INTO webhook VALUES (?, ?)";
      this.#sql.exec(row, event.sequence, JSON.stringify(event));
    }
    for (const sequence of dropped) {
      this.#sql.exec("DELETE FROM webhook WHERE sequence = ?", sequence);
    }
  }
}

/**
 * The outputs of a run, read incrementally. A webhook body is made from them every 500 ms, and
 * reading a log of 36,000 frames from its beginning blocks the object for 100 ms.
 */

class OutputSoFar {
  readonly #log: EventLog;
  #attempt = 0;
  #last = 0;
  #values: Piece[] = [];

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** The values of an attempt up to an event. They stay in memory, so not for large values. */
  upTo(attempt: number, last: number): Piece[] {
    // The webhook may be a retry of an earlier event.
    if (attempt < this.#attempt || last < this.#last) return this.#log.outputs(attempt, last);
    if (attempt > this.#attempt) this.forget();
    this.#attempt = attempt;
    this.#values = this.#values.concat(this.#log.outputs(attempt, last, this.#last));
    this.#last = last;
    return this.#values;
  }

  forget(): void {
    this.#last = 0;
    this.#values = [];
  }
}
