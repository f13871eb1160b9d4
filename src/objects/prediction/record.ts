/** All of one prediction in the hand: its life, its log, and where both are kept. */
import type { Owed } from "../../domain/predictions/deadlines.ts";
import { PredictionLife } from "../../domain/predictions/life.ts";
import { presentPrediction } from "../../domain/predictions/prediction-resource.ts";
import type { PredictionSpec, PredictionState } from "../../domain/predictions/state.ts";
import { destinationsOf } from "../../domain/webhooks/destinations.ts";
import { type Happening, Outbox } from "../../domain/webhooks/outbox.ts";
import type { Finish } from "../../protocol/channel.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import type { VendoraCall } from "../../protocol/runner.ts";
import type { WebhookEventName } from "../../protocol/webhook.ts";
import { Entries } from "./entries.ts";
import { EventLog, type Piece } from "./log.ts";
import { OutboxStore } from "./outbox-store.ts";
import { OutputSoFar } from "./output-so-far.ts";

/** A prediction in its full form, as JSON text: it is large, and only ever passed on. */
export interface Snapshot {
  id: string;
  call: VendoraCall | null;
  /** Unix time, ms. */
  created_at: number;
  terminal: boolean;
  body: Piece[];
}

const NEVER = Number.POSITIVE_INFINITY;

export class PredictionRecord {
  readonly life: PredictionLife;
  readonly log: EventLog;
  /** Webhooks; absent when nobody is to be told anything. */
  readonly outbox: Outbox | undefined;
  readonly #entries: Entries;
  readonly #outboxStore: OutboxStore | undefined;
  readonly #outputSoFar: OutputSoFar;

  private constructor(life: PredictionLife, log: EventLog, entries: Entries, sql: SqlStorage) {
    this.life = life;
    this.log = log;
    this.#entries = entries;
    this.#outputSoFar = new OutputSoFar(log);
    const destinations = destinationsOf(life.spec);
    if (destinations.length === 0) return;
    this.#outboxStore = new OutboxStore(sql);
    this.outbox = new Outbox(destinations, this.#outboxStore.load());
  }

  /** @param input JSON text; empty when it lies in R2. */
  static create(sql: SqlStorage, life: PredictionLife, input: string): PredictionRecord {
    const entries = new Entries(sql);
    const events = life.takeEvents();
    const frame = EventLog.firstFrame(events);
    entries.create(JSON.stringify([life.spec, life.state]), input, frame);
    return new PredictionRecord(life, EventLog.first(entries, events), entries, sql);
  }

  /** undefined when nothing was created here, or it has been purged. */
  static load(sql: SqlStorage): PredictionRecord | undefined {
    const entries = new Entries(sql);
    if (!entries.exists()) return undefined;
    const [spec, state]: [PredictionSpec, PredictionState] = JSON.parse(entries.record());
    const life = new PredictionLife(spec, state);
    return new PredictionRecord(life, EventLog.load(entries), entries, sql);
  }

  save(): void {
    this.#entries.saveRecord(JSON.stringify([this.life.spec, this.life.state]));
  }

  saveOutbox(): void {
    const { changed, dropped } = this.outbox?.takeChanges() ?? { changed: [], dropped: [] };
    this.#outboxStore?.save(changed, dropped);
  }

  /** All but what it was. */
  removeData(forgetAt: number): void {
    this.life.removeData(forgetAt);
    this.#entries.removeData(this.log.last, this.log.closing());
    this.save();
  }

  /** How many outputs the last attempt has made. */
  get outputs(): number {
    const { attempt, outputs } = this.log.totals;
    return attempt === this.life.outputAttempt ? outputs : 0;
  }

  /** Whether output of the current attempt was already seen. */
  get produced(): boolean {
    return this.life.state.attempt !== null && this.outputs > 0;
  }

  input(): Piece {
    return this.life.spec.stored_input ?? this.#entries.input();
  }

  present(): Prediction {
    return presentPrediction(this.life.spec, this.life.state);
  }

  snapshot(): Snapshot {
    const data_removed = this.life.dataRemoved;
    const head = JSON.stringify({ ...this.present(), data_removed }).slice(0, -1);
    const { id, call, created_at } = this.life.spec;
    const { terminal } = this.life;
    const about = { id, call, created_at, terminal };
    if (data_removed) return { ...about, body: [`${head},"input":null,"output":null}`] };
    const made = outputOf(
      this.life.state.output,
      this.log.outputs(this.life.outputAttempt, this.log.last),
    );
    const body = joined([`${head},"input":`, this.input(), ',"output":', ...made, "}"]);
    return { ...about, body };
  }

  /** What is told of it now, as the last event of the log has it. */
  happening(event: WebhookEventName, at: number): Happening {
    const { outputAttempt: attempt } = this.life;
    const { output } = this.life.state;
    const { outputs } = this;
    return {
      sequence: this.log.last,
      event,
      at,
      prediction: this.present(),
      attempt,
      output,
      outputs,
      output_bytes: outputs > 0 ? this.log.totals.output_bytes : 0,
    };
  }

  /** When the next `output` is to be told. Of one that has ended the end says all. */
  get outputAt(): number {
    const { terminal, state } = this.life;
    if (!this.outbox || terminal || state.webhooks_suppressed) return NEVER;
    return this.outbox.outputAt(this.outputs);
  }

  /** What receivers are still to be told. */
  get owed(): Owed | undefined {
    const { outbox } = this;
    return outbox && { at: Math.min(outbox.dueAt(), this.outputAt), pending: outbox.pending };
  }

  /** Whether somebody is still to be told of it, or to come: it is not forgotten before. */
  get unsettled(): boolean {
    return this.outbox?.pending === true || this.life.state.dismissed.length > 0;
  }

  /** The output as it was when something happened: not to be asked for when it is large. */
  outputThen({ attempt, output, sequence }: Happening): Piece[] {
    if (output === "value") return outputOf(output, this.log.outputs(attempt, sequence));
    const made = outputOf(output, this.#outputSoFar.upTo(attempt, sequence));
    if (this.life.terminal) this.#outputSoFar.forget();
    return joined(made);
  }
}

/** What values make up; of a list also what came before the run broke off. */
function outputOf(output: Finish["output"], values: Piece[]): Piece[] {
  if (output === "value") return [values.at(-1) ?? "null"];
  if (values.length === 0) return [output === "items" ? "[]" : "null"];
  return ["[", ...values.flatMap((value, n) => (n === 0 ? [value] : [",", value])), "]"];
}

/** Neighbouring texts as one: as a rule there is nothing else. */
function joined(pieces: Piece[]): Piece[] {
  const all: Piece[] = [];
  let text: string[] = [];
  for (const piece of pieces) {
    if (typeof piece === "string") text.push(piece);
    else {
      all.push(text.join(""), piece);
      text = [];
    }
  }
  all.push(text.join(""));
  return all;
}
