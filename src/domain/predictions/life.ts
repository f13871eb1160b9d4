/**
 * The life of a prediction as rules: which transitions are allowed in which state, and which events
 * they produce. No clock, no storage, no network: the prediction object calls a transition, writes
 * what `takeEvents` returns, and runs the effects. Every change of the state is a method here.
 *
 *   pending ──start──▶ started ──finish──▶ succeeded | failed | canceled
 *      └──────────────cancel, deadlines─────────────▶ failed | canceled
 *
 * Terminal states never change, and no status moves back. Frames of an attempt other than the
 * open ones are refused (fencing).
 */
import type { Finish } from "../../protocol/channel.ts";
import type { LogEvent, Metrics } from "../../protocol/event.ts";
import type { PredictionError, TaskStatus } from "../../protocol/prediction.ts";
import { costOf, ownTime, reportedTime } from "../money/cost.ts";
import { type Attempt, AttemptSet, type Writable } from "./attempts.ts";
import { boundedDetail, boundedMetrics } from "./bounded.ts";
import { type EndWithoutResult, failureOf, retryRefusal } from "./failures.ts";
import {
  type Fallback,
  initialState,
  type PredictionSpec,
  type PredictionState,
  predictionOfEvent,
  specAfter,
  versionNameOf,
} from "./state.ts";
import { isTerminal } from "./status.ts";

type FreeAttempts = Pick<
  AttemptSet,
  | ("takeLost" | "expected" | "setRunner" | "resolveDismissed" | "expireDismissed")
  | ("channelOpened" | "channelClosed" | "grantGrace" | "markReady")
>;

export class PredictionLife {
  readonly #created: PredictionSpec;
  #spec: PredictionSpec;
  /** The specs that the prediction has fallen back from since the last call of `takeLeft`. */
  #left: PredictionSpec[] = [];
  readonly #state: Writable<PredictionState>;
  readonly #attempts: AttemptSet;
  /** The transitions of attempts that no rule of the prediction restricts. */
  readonly attempts: FreeAttempts;
  #events: LogEvent[] = [];

  constructor(spec: PredictionSpec, state: PredictionState) {
    this.#created = spec;
    this.#spec = specAfter(spec, state.fallbacks_used);
    this.#state = state;
    this.#attempts = new AttemptSet(state);
    this.attempts = this.#attempts;
  }

  static create(spec: PredictionSpec): PredictionLife {
    const life = new PredictionLife(spec, initialState(spec));
    const prediction = predictionOfEvent(spec, life.state);
    life.#events.push({ event: "status", data: { status: "pending", prediction } });
    return life;
  }

  static begin(spec: PredictionSpec, secret: string): [PredictionLife, Attempt] {
    const life = PredictionLife.create(spec);
    return [life, life.#attempts.open(secret, spec.created_at)];
  }

  /** The spec with the version that answers, which after a fallback is another one than at the create. */
  get spec(): PredictionSpec {
    return this.#spec;
  }

  /** The next version that answers if the present one cannot. */
  get fallback(): Fallback | undefined {
    return this.#created.fallbacks?.[this.#state.fallbacks_used];
  }

  /** The specs of all versions that were asked. */
  get asked(): PredictionSpec[] {
    const count = this.#state.fallbacks_used + 1;
    return Array.from({ length: count }, (_, n) => specAfter(this.#created, n));
  }

  takeLeft(): PredictionSpec[] {
    return this.#left.splice(0);
  }

  get state(): PredictionState {
    return this.#state;
  }

  get terminal(): boolean {
    return isTerminal(this.#state.status);
  }

  /** Whether the prediction waits for a runner: no attempt is open. */
  get waiting(): boolean {
    return !this.terminal && this.#state.attempt === null;
  }

  takeEvents(): LogEvent[] {
    return this.#events.splice(0);
  }

  acceptsFrom(number: number): boolean {
    return !this.terminal && this.#attempts.isOpen(number);
  }

  /** The attempt whose output is the prediction's: the open one, or else the last. */
  get outputAttempt(): number {
    return this.#state.attempt?.number ?? this.#state.attempt_count;
  }

  /** Opens the next attempt; null when the prediction has ended or an attempt is open. */
  openAttempt(secret: string, now: number): Attempt | null {
    return this.waiting ? this.#attempts.open(secret, now) : null;
  }

  /** Opens a second attempt next to one that is not connected, if it may. Both count until one connects. */
  openSecond(secret: string, now: number): Attempt | null {
    return this.terminal ? null : this.#attempts.openSecond(secret, now);
  }

  /** Takes back an attempt that was handed to nobody. It does not count as lost. */
  closeAttempt(number: number, now: number): boolean {
    if (this.terminal || this.#state.attempt?.started_at !== null) return false;
    if (!this.#attempts.close(number, now)) return false;
    // Hand-outs to nobody do not extend the time in the queue.
    if (this.#state.attempt === null) this.#wait(now, this.#state.waiting_since);
    return true;
  }

  /** Notes that an attempt's runner has connected. @returns whether that must be saved */
  confirmAttempt(number: number): boolean {
    return !this.terminal && this.#attempts.confirm(number);
  }

  /** Ends the hand-out of an attempt whose runners have not connected in time. It does not count as lost. */
  expireHandout(now: number): void {
    if (this.terminal || this.#state.attempt?.started_at !== null) return;
    this.#attempts.dismissOpen();
    this.#wait(now, this.#state.waiting_since);
  }

  /** Limits what the prediction may cost. */
  reserve(amount: number | null): void {
    this.#state.reserved = amount;
  }

  /**
   * Notes the answer to a request for an extension.
   * @param total what is reserved now; undefined: the account has not answered, and is asked again
   */
  extend(total: number | undefined, now: number): void {
    if (this.terminal) return;
    const { reserved } = this.#state;
    this.#state.extension_asked_at = total === undefined ? now : null;
    if (total === undefined) return;
    this.#state.extension_refused = reserved !== null && total <= reserved;
    this.#state.reserved = total;
  }

  recordDispatch(now: number): void {
    this.#state.dispatches += 1;
    this.#state.dispatched_at = now;
  }

  /** Starts the prediction: the runner of the current attempt has reported for the first time. */
  start(now: number): void {
    if (this.terminal || !this.#attempts.start(now)) return;
    this.#state.status = "started";
    this.#state.setup_seconds = null;
    this.#state.updated_at = now;
    const attempt = this.outputAttempt;
    this.#events.push({ event: "status", data: { status: "started", attempt } });
  }

  /** @param seconds the runner's measure of the setup */
  markReady(seconds: number | undefined, now: number): void {
    this.#attempts.markReady(now);
    this.#state.setup_seconds = seconds ?? null;
  }

  mergeMetrics(metrics: Metrics): void {
    this.#state.metrics = boundedMetrics({ ...this.#state.metrics, ...metrics });
  }

  /** Notes that output has come. @returns whether that must be saved: it rules out a fallback */
  noteOutput(now: number): boolean {
    const isFirst = this.#state.first_output_at === null;
    this.#state.first_output_at ??= now;
    return isFirst && this.fallback !== undefined;
  }

  /**
   * Counts a file or value that an attempt is about to write to R2.
   * @returns whether that must be saved: the first, because there is data to delete from then on, and the
   * count every 100
   */
  countStored(number: number): boolean {
    const first = !this.#state.stored;
    this.#state.stored = true;
    return this.#attempts.countStored(number) || first;
  }

  /** Ends the prediction with the runner's last frame: as `canceled` once a cancel is recorded. */
  finish(result: Finish, now: number): void {
    if (this.terminal) return;
    this.#attempts.markFinished();
    this.#state.setup_seconds = result.setup_seconds ?? this.#state.setup_seconds;
    this.#state.execution_seconds = result.execution_seconds ?? null;
    this.#state.output = result.output;
    const { attempt } = this.#state;
    if (attempt && result.error?.source !== "internal")
      this.#state.billable = reportedTime(result, attempt, now);
    if (this.spec.measure) this.#state.image_bytes = result.image_bytes ?? null;
    if (this.#state.cancel_requested_at !== null) return this.#end("canceled", now);
    const failure = failureOf(result);
    if (!failure) return this.#end("succeeded", now);
    this.fail(failure.source, failure.message, now, failure.detail ?? null);
  }

  /** Takes the job back from a runner. @param produced whether some of the output was visible */
  release(produced: boolean, now: number): void {
    if (this.terminal) return;
    this.#attempts.markFinished();
    this.#state.release_count += 1;
    this.#tryAgain({ kind: "returned", produced }, now);
  }

  /** Takes the job from a runner whose machine could not start it: not counted as lost or handed back. */
  failStart(produced: boolean, reason: string, now: number): void {
    const { attempt, failed_on } = this.#state;
    if (this.terminal || !attempt) return;
    this.#attempts.markFinished();
    this.#state.failed_on = [...failed_on, attempt.runner_id ?? ""];
    this.#tryAgain({ kind: "failed start", produced, reason }, now);
  }

  /** Takes the job from a runner whose lease has expired. @param produced as for `release` */
  lose(produced: boolean, now: number): void {
    if (this.terminal || !this.#state.attempt) return;
    this.#state.lost_count += 1;
    this.#tryAgain({ kind: "lost", produced }, now);
  }

  /** Lets the prediction wait for another attempt, if it may. */
  #tryAgain(end: EndWithoutResult, now: number): void {
    if (this.#state.cancel_requested_at !== null) return this.#end("canceled", now);
    const refusal = retryRefusal(end, this.spec, this.#state);
    if (refusal === undefined) return this.#retry(end.kind === "lost" ? "lost" : "returned", now);
    if (end.produced) this.stop("internal", refusal, now);
    else this.fail("internal", refusal, now);
  }

  /**
   * Fails the prediction, or falls back to the next version if this one has put out nothing. What a container
   * that was ready made of the input is its answer: the next version is not asked.
   */
  fail(
    source: PredictionError["source"],
    message: string,
    now: number,
    detail: PredictionError["detail"] = null,
  ): void {
    const wasAsked = (this.#state.attempt?.ready_at ?? null) !== null;
    const hasAnswered = source === "external" && wasAsked && !this.#spec.remote;
    if (hasAnswered || !this.fallBack(message, now)) this.stop(source, message, now, detail);
  }

  /**
   * Has the next version answer, unless there is none, output was visible or a cancel was accepted.
   * @param reason why the present one does not
   * @returns whether it does
   */
  fallBack(reason: string, now: number): boolean {
    const { cancel_requested_at, first_output_at, status } = this.#state;
    const isOver = this.terminal || cancel_requested_at !== null || first_output_at !== null;
    const { fallback } = this;
    if (isOver || !fallback) return false;
    const from = versionNameOf(this.#spec);
    this.#left.push(this.#spec);
    this.#attempts.dismissOpen();
    this.#wait(now);
    // The alarm hands a remote call out at once.
    if (fallback.spec.remote) this.#state.dispatched_at = 0;
    Object.assign(this.#state, {
      ...{ fallbacks_used: this.#state.fallbacks_used + 1, asked_at: now },
      ...{ lost_count: 0, release_count: 0, failed_on: [] },
      ...{ setup_seconds: null, execution_seconds: null, billable: null },
      ...{ metrics: null, image_bytes: null, output: "none" },
    } satisfies Partial<PredictionState>);
    this.#spec = specAfter(this.#created, this.#state.fallbacks_used);
    const data = { status, fallback: versionNameOf(this.#spec), from, reason };
    this.#events.push({ event: "status", data });
    return true;
  }

  /** Fails the prediction. If a cancel was accepted it ends as `canceled`. */
  stop(
    source: PredictionError["source"],
    message: string,
    now: number,
    detail: PredictionError["detail"] = null,
  ): void {
    if (this.terminal) return;
    if (source === "external") this.#billOwnTime(now);
    if (this.#state.cancel_requested_at !== null) return this.#end("canceled", now);
    const error = { source, message, detail: boundedDetail(detail) };
    this.#state.error = error;
    this.#events.push({ event: "error", data: error });
    this.#end("failed", now);
  }

  /**
   * Records a cancel. The prediction ends at once if no runner has started; otherwise the runner must be
   * told.
   * @returns false if the prediction has ended
   */
  requestCancel(now: number): boolean {
    if (this.terminal) return false;
    if (this.#state.cancel_requested_at === null) {
      this.#state.cancel_requested_at = now;
      this.#state.updated_at = now;
    }
    if (this.#state.attempt?.started_at == null) this.#end("canceled", now);
    return true;
  }

  /** Notes that a restart has cut off a waiting caller. @returns whether that must be saved */
  loseCaller(now: number): boolean {
    const isKnown = this.#state.caller_lost_at !== null;
    if (this.terminal || !this.spec.cancel_on_disconnect || isKnown) return false;
    this.#state.caller_lost_at = now;
    return true;
  }

  /** Notes that the caller follows the prediction. @returns whether that must be saved */
  callerFollows(): boolean {
    if (this.#state.caller_lost_at === null) return false;
    this.#state.caller_lost_at = null;
    return true;
  }

  /** Ends the prediction without its runner, which has not obeyed a cancel in time. */
  enforceCancel(now: number): void {
    if (this.terminal || this.#state.cancel_requested_at === null) return;
    this.#billOwnTime(now);
    this.#end("canceled", now);
  }

  /** Sends no webhooks: the creation failed after the prediction had begun, and nobody was given its id. */
  suppressWebhooks(): void {
    this.#state.webhooks_suppressed = true;
  }

  removeData(forgetAt: number): void {
    this.#state.forget_at = forgetAt;
  }

  get dataRemoved(): boolean {
    return this.#state.forget_at !== null;
  }

  /** Lets the prediction wait again. An event says why if it had started: no status moves back. */
  #retry(reason: "lost" | "returned", now: number): void {
    const { attempt, status } = this.#state;
    this.#attempts.dismissOpen();
    this.#wait(now);
    if (!attempt || attempt.started_at === null) return;
    this.#events.push({ event: "status", data: { status, [reason]: attempt.number } });
  }

  #wait(now: number, since = now): void {
    this.#attempts.clear();
    this.#state.waiting_since = since;
    this.#state.dispatches = 0;
    this.#state.dispatched_at = now;
    this.#state.updated_at = now;
  }

  /** Counts the time of an attempt whose runner has not said it. */
  #billOwnTime(now: number): void {
    const { attempt } = this.#state;
    if (attempt) this.#state.billable ??= ownTime(attempt, now);
  }

  #end(status: TaskStatus, now: number): void {
    this.#attempts.dismissOpen();
    this.#state.status = status;
    this.#state.completed_at = now;
    this.#state.updated_at = now;
    const { amount, parts } = costOf(this.spec, this.#state);
    this.#state.cost = amount;
    this.#state.cost_parts = parts;
    this.#events.push({ event: "status", data: { status } });
  }
}
