/** The one alarm of a prediction's object: it is set to whatever is due first. */
import { type Deadline, deadlines, earliest } from "../../domain/predictions/deadlines.ts";
import { type Bindings, settings } from "../../env.ts";
import type { Channels } from "./channels.ts";
import type { PredictionRecord } from "./record.ts";

const RETRY_MS = 10_000;
const NEVER = Number.POSITIVE_INFINITY;

export class Alarm {
  readonly #ctx: DurableObjectState;
  readonly #env: Bindings;
  readonly #channels: Channels;
  /** What it is set to, as far as this instance knows. */
  #setTo = NEVER;
  /** When something that could not be done is tried again. */
  #retryAt = NEVER;

  constructor(ctx: DurableObjectState, env: Bindings, channels: Channels) {
    this.#ctx = ctx;
    this.#env = env;
    this.#channels = channels;
  }

  /** The first deadline that has passed. */
  due(record: PredictionRecord, now: number): Deadline | undefined {
    return this.#deadlines(record).find(({ at }) => at <= now);
  }

  /** Sets it when it would come too late, and for good at the end: an early one sets itself anew. */
  arm(record: PredictionRecord): void {
    // setAlarm takes no 0, which is how a deadline says "at once".
    const at = Math.max(1, Math.min(earliest(this.#wanted(record)), this.#retryAt));
    if (at === this.#setTo || (at > this.#setTo && !record.life.terminal)) return;
    this.#setTo = at;
    this.#ctx.waitUntil(this.#ctx.storage.setAlarm(at));
  }

  /** Has it go off again soon, whatever else is due. */
  retry(record: PredictionRecord): void {
    this.#retryAt = Date.now() + RETRY_MS;
    this.arm(record);
  }

  /** It has gone off, or there is none any more. */
  disarmed(): void {
    this.#setTo = NEVER;
    this.#retryAt = NEVER;
  }

  /** While something is to be tried again, what has passed waits for that: all but webhooks, which never fail here. */
  #wanted(record: PredictionRecord): Deadline[] {
    const all = this.#deadlines(record);
    if (this.#retryAt === NEVER) return all;
    const now = Date.now();
    return all.filter(({ kind, at }) => at > now || kind === "webhooks");
  }

  #deadlines(record: PredictionRecord): Deadline[] {
    const { life, owed } = record;
    const { attempt } = life.state;
    const channel = attempt && this.#channels.open(attempt.number);
    return deadlines(life, channel, settings(this.#env).patience, owed);
  }
}
