/**
 * The life of a prediction, as rules: what may happen in which state, and which events it leaves.
 * No clock, no storage, no network: the prediction object calls a transition, writes what
 * `takeEvents` gives, and lets the effects follow.
 *
 *   pending ──start──▶ started ──finish──▶ succeeded | failed | canceled
 *      └──────────────cancel, deadlines─────────────▶ failed | canceled
 *
 * Terminal states never move and no status moves back. Each hand-out to a runner is an attempt
 * with a number that only rises; whoever speaks for another attempt than the current one is
 * fenced. Whatever takes an attempt from its runner, but for its own last word, leaves one of two
 * things to be done: one that was heard is lost, and one that was not is dismissed.
 */
import type { Finish } from "../../protocol/channel.ts";
import type { LogEvent, Metrics } from "../../protocol/event.ts";
import type { PredictionError, TaskStatus } from "../../protocol/prediction.ts";
import { presentPrediction } from "./prediction-resource.ts";
import {
  type Attempt,
  initialState,
  isTerminal,
  type PredictionSpec,
  type PredictionState,
} from "./state.ts";

/** Attempts that may be lost after they had begun, before the prediction is given up. */
export const MAX_LOST = 3;

/**
 * Files and values that one attempt may store. A runner lets a run have 10,000 files; those that it
 * sends again count again.
 */
export const MAX_STORED = 20_000;
/** What an object that is evicted forgets of that count is less. */
const STORED_STEP = 100;

/** Times it may be handed back: a fleet that is restarted box by box may well do so some times. */
export const MAX_RELEASED = 10;

/** How long an Idempotency-Key finds the prediction that it began. */
const KEY_MS = 86_400_000;
/** A request that writes to R2 ends within this. */
const LATE_MS = 3_600_000;

/** What is kept of them: both travel in the record, in the row and in queue messages of 128 KB. */
const MAX_METRICS = 100;
const MAX_DETAIL_CHARS = 16_384;

export class PredictionLife {
  readonly spec: PredictionSpec;
  readonly state: PredictionState;
  #events: LogEvent[] = [];
  #lost: Attempt[] = [];

  constructor(spec: PredictionSpec, state: PredictionState) {
    this.spec = spec;
    this.state = state;
  }

  /** A new prediction; its first event carries the resource. */
  static create(spec: PredictionSpec): PredictionLife {
    const life = new PredictionLife(spec, initialState(spec));
    const prediction = presentPrediction(spec, life.state);
    life.#events.push({ event: "status", data: { status: "pending", prediction } });
    return life;
  }

  /** A new prediction with its first attempt open. */
  static begin(spec: PredictionSpec, secret: string): [PredictionLife, Attempt] {
    const life = PredictionLife.create(spec);
    return [life, life.#open(secret, spec.created_at)];
  }

  get terminal(): boolean {
    return isTerminal(this.state.status);
  }

  /** True while no runner works on it or is about to. */
  get waiting(): boolean {
    return !this.terminal && this.state.attempt === null;
  }

  /** The events of the transitions since the last call, in order. */
  takeEvents(): LogEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** The attempts that were taken from runners that had been heard, since the last call. */
  takeLost(): Attempt[] {
    const lost = this.#lost;
    this.#lost = [];
    return lost;
  }

  /** Opens the next attempt, or answers null when none is wanted: finished, or already at work. */
  openAttempt(secret: string, now: number): Attempt | null {
    return this.waiting ? this.#open(secret, now) : null;
  }

  /**
   * Opens a second attempt beside one whose runner was not heard yet, once; null when none is wanted.
   * Until one of them is heard both may speak.
   */
  openSecond(secret: string, now: number): Attempt | null {
    const { attempt } = this.state;
    if (this.terminal || !attempt || attempt.started_at !== null || attempt.seconded) return null;
    attempt.seconded = true;
    this.state.second = this.#newAttempt(secret, now);
    return this.state.second;
  }

  /**
   * An attempt is heard. Of two the other is not wanted any more.
   * @returns whether that must be kept
   */
  heard(number: number): boolean {
    const { attempt, second } = this.state;
    const [one, other] = second?.number === number ? [second, attempt] : [attempt, second];
    if (this.terminal || one?.number !== number) return false;
    if (one.word === "none") one.word = "some";
    if (!other) return false;
    this.state.attempt = one;
    this.state.second = null;
    this.#dismiss(other);
    return true;
  }

  /** The attempts whose runners may come: those that it has had last, and those that were dismissed. */
  get expected(): Attempt[] {
    const { attempt, second, dismissed } = this.state;
    return [attempt, second, ...dismissed].filter((one) => one !== null);
  }

  /** The runner of an attempt has come. @returns whether it was dismissed: then it is not wanted */
  excuse(number: number): boolean {
    const { dismissed } = this.state;
    this.state.dismissed = dismissed.filter((one) => one.number !== number);
    return this.state.dismissed.length < dismissed.length;
  }

  /** The oldest that was dismissed has been waited for in vain. */
  miss(): Attempt | undefined {
    return this.state.dismissed.shift();
  }

  /** Takes back an attempt that was handed to nobody. It does not count as lost. */
  closeAttempt(number: number, now: number): boolean {
    const { attempt, second } = this.state;
    if (this.terminal || !attempt || attempt.started_at !== null) return false;
    if (second && (second.number === number || attempt.number === number)) {
      if (attempt.number === number) this.state.attempt = second;
      this.state.second = null;
      return true;
    }
    if (attempt.number !== number) return false;
    // Hand-outs to nobody must not put off the end of the queue time.
    this.#wait(now, this.state.waiting_since);
    return true;
  }

  /** Whoever was handed it has not come in time. It does not count as lost, and waits as before. */
  giveUp(now: number): void {
    if (this.terminal || this.state.attempt?.started_at !== null) return;
    this.#letGo();
    this.#wait(now, this.state.waiting_since);
  }

  /** A dispatch is on its way. */
  dispatched(now: number): void {
    this.state.dispatches += 1;
    this.state.dispatched_at = now;
  }

  /** Whether this is the attempt that may speak for the prediction. */
  owns(number: number): boolean {
    const { attempt, second } = this.state;
    return !this.terminal && (attempt?.number === number || second?.number === number);
  }

  /** The attempt whose output counts: the one that is under way or, between two, none yet. */
  get current(): number {
    return this.state.attempt?.number ?? this.state.attempts;
  }

  /** The runner of the current attempt is heard for the first time. */
  start(now: number): void {
    const { attempt } = this.state;
    if (this.terminal || !attempt || attempt.started_at !== null) return;
    attempt.started_at = now;
    attempt.word = "some";
    this.state.status = "started";
    this.state.updated_at = now;
    this.#events.push({ event: "status", data: { status: "started", attempt: attempt.number } });
  }

  /** The container is ready: the time of the run counts from here. Answers whether that is new. */
  ready(now: number): boolean {
    const { attempt } = this.state;
    if (!attempt || attempt.ready_at !== null) return false;
    attempt.ready_at = now;
    return true;
  }

  /**
   * Something of an attempt is about to be written to R2.
   * @returns whether that must be kept: the first of all, because its data is to be removed one
   * day, and the count every so often
   */
  store(attempt: Attempt): boolean {
    const first = !this.state.stored;
    this.state.stored = true;
    attempt.stored += 1;
    return first || attempt.stored % STORED_STEP === 0;
  }

  /**
   * When it may be forgotten that it was, once its data is removed: a key that comes again must
   * find it, or it would run a second time; and what a runner was storing just then comes too
   * late for that removal.
   */
  forgetAt(now: number): number {
    const keyed = this.spec.request_hash === null ? now : this.spec.created_at + KEY_MS;
    const late = this.state.stored ? now + LATE_MS : now;
    return Math.max(keyed, late);
  }

  /** Input, output and events are gone. */
  removeData(forgetAt: number): void {
    this.state.forget_at = forgetAt;
  }

  get dataRemoved(): boolean {
    return this.state.forget_at !== null;
  }

  mergeMetrics(metrics: Metrics): void {
    const all = Object.entries({ ...this.state.metrics, ...metrics });
    this.state.metrics = Object.fromEntries(all.slice(0, MAX_METRICS));
  }

  /** The runner's last word. Once a cancel is recorded the end is `canceled`, whatever came of the run. */
  finish(result: Finish, now: number): void {
    if (this.terminal) return;
    this.#lastWord();
    this.state.setup_seconds = result.setup_seconds ?? null;
    this.state.execution_seconds = result.execution_seconds ?? null;
    this.state.output = result.output;
    if (this.spec.measure) this.state.image_bytes = result.image_bytes ?? null;
    if (this.state.cancel_requested_at !== null) return this.#end("canceled", now);
    switch (result.status) {
      case "succeeded":
        return this.#end("succeeded", now);
      case "canceled":
        // A runner that stops what nobody cancelled has failed it.
        return this.fail(
          "internal",
          "The runner stopped the prediction, though nobody had asked.",
          now,
        );
      case "failed": {
        const { source, message, detail } = result.error ?? {
          source: "internal" as const,
          message: "The runner gave no reason.",
        };
        return this.fail(source, message, now, detail ?? null);
      }
    }
  }

  /** The runner hands the job back. `produced`: output of it was already seen. */
  release(produced: boolean, now: number): void {
    if (this.terminal) return;
    this.#lastWord();
    this.state.released += 1;
    if (this.state.cancel_requested_at !== null) return this.#end("canceled", now);
    if (produced) {
      return this.fail("internal", "The runner gave it up after it had begun to answer.", now);
    }
    if (this.state.released >= MAX_RELEASED) {
      return this.fail("internal", `It was handed back by ${MAX_RELEASED} runners in turn.`, now);
    }
    this.#again("returned", now);
  }

  /** The lease of the attempt has ended. `produced`: output of it was already seen. */
  lose(produced: boolean, now: number): void {
    if (this.terminal || !this.state.attempt) return;
    this.state.lost += 1;
    if (this.state.cancel_requested_at !== null) return this.#end("canceled", now);
    if (produced) {
      return this.fail("internal", "The runner was lost after it had begun to answer.", now);
    }
    if (this.state.lost >= MAX_LOST) {
      return this.fail(
        "internal",
        `${MAX_LOST} runners in turn were lost at this prediction.`,
        now,
      );
    }
    this.#again("lost", now);
  }

  /**
   * Asks for the end. At once when no runner has begun; else the runner is told.
   * @returns false when the prediction is terminal already.
   */
  requestCancel(now: number): boolean {
    if (this.terminal) return false;
    if (this.state.cancel_requested_at === null) {
      this.state.cancel_requested_at = now;
      this.state.updated_at = now;
    }
    if (this.state.attempt?.started_at == null) this.#end("canceled", now);
    return true;
  }

  /** The runner did not obey a cancel in time: the prediction ends without it. */
  enforceCancel(now: number): void {
    if (!this.terminal && this.state.cancel_requested_at !== null) this.#end("canceled", now);
  }

  /** It cannot succeed any more. What was to be cancelled is canceled: its caller was told so. */
  fail(
    source: PredictionError["source"],
    message: string,
    now: number,
    detail: PredictionError["detail"] = null,
  ): void {
    if (this.terminal) return;
    if (this.state.cancel_requested_at !== null) return this.#end("canceled", now);
    this.state.error = { source, message, detail: bounded(detail) };
    this.#events.push({ event: "error", data: this.state.error });
    this.#end("failed", now);
  }

  #open(secret: string, now: number): Attempt {
    this.state.attempt = this.#newAttempt(secret, now);
    return this.state.attempt;
  }

  #newAttempt(secret: string, now: number): Attempt {
    return {
      number: ++this.state.attempts,
      secret,
      opened_at: now,
      word: "none",
      started_at: null,
      ready_at: null,
      runner_id: null,
      heard_at: null,
      seconded: false,
      grace: false,
      stored: 0,
    };
  }

  /** What was begun waits for another runner, and its log says why: the status does not move back. */
  #again(why: "lost" | "returned", now: number): void {
    const { attempt, status } = this.state;
    this.#letGo();
    this.#wait(now);
    if (!attempt || attempt.started_at === null) return;
    this.#events.push({ event: "status", data: { status, [why]: attempt.number } });
  }

  /** Its runner knows that it has it no more. */
  #lastWord(): void {
    if (this.state.attempt) this.state.attempt.word = "last";
  }

  #letGo(): void {
    const { attempt, second } = this.state;
    for (const one of [attempt, second]) if (one) this.#dismiss(one);
  }

  #dismiss(attempt: Attempt): void {
    if (attempt.word === "none") this.state.dismissed.push(attempt);
    if (attempt.word === "some") this.#lost.push(attempt);
  }

  #wait(now: number, since = now): void {
    this.state.attempt = null;
    this.state.second = null;
    this.state.waiting_since = since;
    this.state.dispatches = 0;
    this.state.dispatched_at = now;
    this.state.updated_at = now;
  }

  #end(status: TaskStatus, now: number): void {
    this.#letGo();
    this.state.status = status;
    this.state.second = null;
    this.state.completed_at = now;
    this.state.updated_at = now;
    this.#events.push({ event: "status", data: { status } });
  }
}

/** A detail that is too large says so in its place. */
function bounded(detail: PredictionError["detail"]): PredictionError["detail"] {
  const { length } = JSON.stringify(detail);
  return length <= MAX_DETAIL_CHARS
    ? detail
    : `The detail had ${length} characters of JSON; ${MAX_DETAIL_CHARS} are kept at most.`;
}
