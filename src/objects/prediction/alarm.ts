/** The one alarm of a prediction object: it is set to the earliest deadline. */
import { type Deadline, deadlines, earliest } from "../../domain/predictions/deadlines.ts";
import { type Bindings, settings } from "../../env.ts";
import type { CancelReason, CancelResult } from "../stubs/prediction.ts";
import type { Channels } from "./channels.ts";
import type { PredictionRecord } from "./record.ts";

const RETRY_MS = 10_000;
const NEVER = Number.POSITIVE_INFINITY;

export class Alarm {
  readonly #ctx: DurableObjectState;
  readonly #env: Bindings;
  readonly #channels: Channels;
  /** The time that the alarm is set to, as far as this instance knows. */
  #setTo = NEVER;
  /** When an effect that failed is tried again. */
  #retryAt = NEVER;

  constructor(ctx: DurableObjectState, env: Bindings, channels: Channels) {
    this.#ctx = ctx;
    this.#env = env;
    this.#channels = channels;
  }

  due(record: PredictionRecord, now: number): Deadline | undefined {
    return this.#deadlines(record).find(({ at }) => at <= now);
  }

  /**
   * Moves the alarm only to an earlier time until the prediction has ended: an early alarm sets itself again.
   */
  arm(record: PredictionRecord): void {
    // setAlarm does not accept 0, which is a deadline's "at once".
    const at = Math.max(1, Math.min(earliest(this.#pending(record)), this.#retryAt));
    if (at === this.#setTo || (at > this.#setTo && !record.life.terminal)) return;
    this.#setTo = at;
    this.#ctx.waitUntil(this.#ctx.storage.setAlarm(at));
  }

  /** Sets the alarm to go off again soon, whatever else is due. Further calls do not put it off. */
  retry(record: PredictionRecord): void {
    const now = Date.now();
    if (this.#retryAt === NEVER || this.#retryAt <= now) this.#retryAt = now + RETRY_MS;
    this.arm(record);
  }

  /** Forgets the time that was set: the alarm has gone off or was deleted. */
  disarmed(): void {
    this.#setTo = NEVER;
    this.#retryAt = NEVER;
  }

  /** While a retry is planned, passed deadlines wait for it, except webhooks, which never fail here. */
  #pending(record: PredictionRecord): Deadline[] {
    const all = this.#deadlines(record);
    if (this.#retryAt === NEVER) return all;
    const now = Date.now();
    return all.filter(({ kind, at }) => at > now || kind === "webhooks");
  }

  #deadlines(record: PredictionRecord): Deadline[] {
    const { life, webhookDeadline } = record;
    const { attempt } = life.state;
    const channel = attempt && this.#channels.open(attempt.number);
    return deadlines(life, channel, settings(this.#env).patience, webhookDeadline);
  }
}

/** Cancels a prediction. The cancel is recorded before the runner gets it. */

interface Canceling {
  commit(record: PredictionRecord): void;
  sendCancel(record: PredictionRecord, reason: CancelReason): void;
}

/** A repeated cancel is sent to the runner again, which may have missed the first. */
export function cancel(
  record: PredictionRecord | undefined,
  effects: Canceling,
  reason: CancelReason,
): CancelResult {
  if (!record) return "unknown";
  const repeated = record.life.state.cancel_requested_at !== null;
  if (!record.life.requestCancel(Date.now())) return "terminal";
  if (!repeated) effects.commit(record);
  effects.sendCancel(record, reason);
  return "accepted";
}
