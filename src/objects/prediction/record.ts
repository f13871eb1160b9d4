/** All of one prediction in the hand: its life, its log, and where both are kept. */
import { PredictionLife } from "../../domain/prediction.ts";
import type { PredictionSpec, PredictionState } from "../../domain/prediction-state.ts";
import { presentPrediction } from "../../domain/resource.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import { Entries } from "./entries.ts";
import { EventLog } from "./log.ts";

/** A prediction in its full form, as JSON text: it is large, and only ever passed on. */
export interface Snapshot {
  id: string;
  terminal: boolean;
  body: string;
}

export class PredictionRecord {
  readonly life: PredictionLife;
  readonly log: EventLog;
  readonly #entries: Entries;

  private constructor(life: PredictionLife, log: EventLog, entries: Entries) {
    this.life = life;
    this.log = log;
    this.#entries = entries;
  }

  static create(sql: SqlStorage, life: PredictionLife, input: string): PredictionRecord {
    const entries = new Entries(sql);
    const events = life.takeEvents();
    const frame = EventLog.firstFrame(events);
    entries.create(JSON.stringify([life.spec, life.state]), input, frame);
    return new PredictionRecord(life, EventLog.first(entries, events), entries);
  }

  /** undefined when nothing was created here, or it has been purged. */
  static load(sql: SqlStorage): PredictionRecord | undefined {
    const entries = new Entries(sql);
    if (!entries.exists()) return undefined;
    const [spec, state]: [PredictionSpec, PredictionState] = JSON.parse(entries.record());
    return new PredictionRecord(new PredictionLife(spec, state), EventLog.load(entries), entries);
  }

  save(): void {
    this.#entries.saveRecord(JSON.stringify([this.life.spec, this.life.state]));
  }

  /** Whether output of the current attempt was already seen. */
  get produced(): boolean {
    const { attempt, outputs } = this.log.totals;
    return attempt === this.life.state.attempt?.number && outputs > 0;
  }

  /** JSON text. */
  input(): string {
    return this.#entries.input();
  }

  present(): Prediction {
    return presentPrediction(this.life.spec, this.life.state);
  }

  snapshot(): Snapshot {
    const head = JSON.stringify({ ...this.present(), data_removed: false }).slice(0, -1);
    const body = `${head},"input":${this.input()},"output":${this.#output()}}`;
    return { id: this.life.spec.id, terminal: this.life.terminal, body };
  }

  /** JSON text. Of a list also what has come so far, or came before the run broke off. */
  #output(): string {
    const { state } = this.life;
    const values = this.log.outputs(state.attempts);
    if (state.output === "value") return values.at(-1) ?? "null";
    return values.length > 0 || state.output === "items" ? `[${values.join(",")}]` : "null";
  }
}
