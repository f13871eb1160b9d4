/** All of one prediction in the hand: its life, its log, and where both are kept. */
import { PredictionLife } from "../../domain/prediction.ts";
import type { PredictionSpec, PredictionState } from "../../domain/prediction-state.ts";
import { presentPrediction } from "../../domain/resource.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import type { VendoraCall } from "../../protocol/runner.ts";
import { Entries } from "./entries.ts";
import { EventLog, type Piece } from "./log.ts";

/** A prediction in its full form, as JSON text: it is large, and only ever passed on. */
export interface Snapshot {
  id: string;
  call: VendoraCall | null;
  /** Unix time, ms. */
  created_at: number;
  terminal: boolean;
  body: Piece[];
}

/** What records do not say that were written before there were files, and vendora calls. */
const OLDER_SPEC = { files: [], stored_input: null, call: null } satisfies Partial<PredictionSpec>;
const OLDER_STATE = { stored: false, forget_at: null } satisfies Partial<PredictionState>;

export class PredictionRecord {
  readonly life: PredictionLife;
  readonly log: EventLog;
  readonly #entries: Entries;

  private constructor(life: PredictionLife, log: EventLog, entries: Entries) {
    this.life = life;
    this.log = log;
    this.#entries = entries;
  }

  /** @param input JSON text; empty when it lies in R2. */
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
    const life = new PredictionLife({ ...OLDER_SPEC, ...spec }, { ...OLDER_STATE, ...state });
    return new PredictionRecord(life, EventLog.load(entries), entries);
  }

  save(): void {
    this.#entries.saveRecord(JSON.stringify([this.life.spec, this.life.state]));
  }

  /** All but what it was. */
  removeData(forgetAt: number): void {
    this.life.removeData(forgetAt);
    this.#entries.removeData(this.log.last, this.log.closing());
    this.save();
  }

  /** Whether output of the current attempt was already seen. */
  get produced(): boolean {
    const { attempt, outputs } = this.log.totals;
    return attempt === this.life.state.attempt?.number && outputs > 0;
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
    const body = joined([`${head},"input":`, this.input(), ',"output":', ...this.#output(), "}"]);
    return { ...about, body };
  }

  /** Of a list also what has come so far, or came before the run broke off. */
  #output(): Piece[] {
    const { state } = this.life;
    const values = this.log.outputs(state.attempts);
    if (state.output === "value") return [values.at(-1) ?? "null"];
    if (values.length === 0) return [state.output === "items" ? "[]" : "null"];
    return ["[", ...values.flatMap((value, n) => (n === 0 ? [value] : [",", value])), "]"];
  }
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
