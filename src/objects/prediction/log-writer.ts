/**
 * Stores, acknowledges and shows events. A frame is shown when it comes, stored with the others of the last
 * 250 ms, and acknowledged then.
 */

import type { PredictionLife } from "../../domain/predictions/life.ts";
import { versionNameOf } from "../../domain/predictions/state.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { Channels } from "./channels.ts";
import { forReaders, type LogTotals, type NumberedEvent, unitsOf } from "./log-events.ts";
import type { PredictionRecord } from "./record.ts";
import type { Subscribers } from "./subscribers.ts";

/**
 * The longest stretch of events that is lost if runner and object die together. A row every 30 ms cost six
 * times as much.
 */
export const LOG_FLUSH_MS = 250;

/**
 * The most UTF-16 units of hidden events, which wait in memory to be shown while the disk is slow: beyond
 * them readers take further events from the log. All events that a runner may send in an attempt would be
 * most of an isolate.
 */
const MAX_HIDDEN_UNITS = 1024 * 1024;

/** A pace that looks continuous. */
const READ_MS = 30;
/** `output` webhooks come at most every 500 ms. */
const WEBHOOK_MS = 250;
const UNREAD_MS = 1_000;

/**
 * The shortest time between two frames of a run, ms.
 * @param read whether somebody reads its stream
 * @param wantsOutput whether output is sent to a webhook as it comes
 */
function flushInterval(read: boolean, wantsOutput: boolean): number {
  if (read) return READ_MS;
  return wantsOutput ? WEBHOOK_MS : UNREAD_MS;
}

type Storage = Pick<DurableObjectStorage, "sync">;
type Runners = Pick<Channels, "send">;
/** The part of a record that the writer works on. */
type Logged = Pick<PredictionRecord, "log" | "shown" | "life" | "outbox">;

export class LogWriter {
  readonly #storage: Storage;
  readonly #channels: Runners;
  readonly #subscribers: Subscribers;
  #timer: number | null = null;
  /** Totals of what the runner knows to be stored. */
  #acknowledged: Readonly<LogTotals> | undefined;
  readonly #mostHidden: number;
  /** Events that are numbered and not shown yet, up to `#mostHidden` units. */
  #hidden: NumberedEvent[] = [];
  #hiddenUnits = 0;
  /** Whether `#hidden` overflowed: readers take pending events from the log instead. */
  #isFromLog = false;
  #awaitsDurable = false;
  /** The id of the last event that was awaited. */
  #durable = 0;

  constructor(
    storage: Storage,
    channels: Runners,
    subscribers: Subscribers,
    mostHidden = MAX_HIDDEN_UNITS,
  ) {
    this.#mostHidden = mostHidden;
    this.#storage = storage;
    this.#channels = channels;
    this.#subscribers = subscribers;
  }

  /**
   * Shows the events that were added to the log, and stores them now or soon.
   * @param held whether the events are shown only once they are durable
   */
  added(record: Logged, held: boolean): void {
    const { log } = record;
    if (log.full) log.store();
    this.#show(record, held);
    if (log.allStored) {
      // A timer keeps the object awake, which is billed.
      clearTimeout(this.#timer);
      this.#timer = null;
      this.#acknowledge(record);
    } else this.#timer ??= setTimeout(() => this.#flush(record), LOG_FLUSH_MS);
  }

  /**
   * Stores all events, so that the runner of an attempt can be told of it.
   * @returns the last frame of the attempt
   */
  settle(record: Logged, attempt: number): number {
    record.log.store();
    this.#acknowledged = record.log.storedTotals;
    return record.log.seqOf(attempt);
  }

  /** The shortest time between two frames of the prediction's runner, ms. */
  flushInterval(record: Logged): number {
    return flushInterval(this.#subscribers.size > 0, record.outbox?.wantsOutput ?? false);
  }

  /** Tells the runner to send what it has gathered: the prediction has its first reader. */
  quicken(record: Logged): void {
    const { attempt } = record.life.state;
    if (!attempt) return;
    this.#channels.send(attempt.number, { type: "flush", flush_ms: this.flushInterval(record) });
  }

  #flush(record: Logged): void {
    this.#timer = null;
    record.log.store();
    this.#publish(record);
    this.#acknowledge(record);
  }

  #acknowledge(record: Logged): void {
    const { storedTotals } = record.log;
    if (storedTotals === this.#acknowledged) return;
    this.#acknowledged = storedTotals;
    const { attempt, seq } = storedTotals;
    this.#channels.send(attempt, { type: "ack", seq, flush_ms: this.flushInterval(record) });
  }

  #show(record: Logged, held: boolean): void {
    const { log, shown } = record;
    const added = log.takeNew();
    const [first] = added;
    if (!first) return;
    if (held) shown.hold(first.id - 1, log.last);
    this.#hide(added);
    this.#publish(record);
  }

  #hide(added: NumberedEvent[]): void {
    if (this.#isFromLog) return;
    if (this.#hidden.length === 0) this.#hidden = added;
    else this.#hidden.push(...added);
    this.#hiddenUnits += unitsOf(added);
    if (this.#hiddenUnits <= this.#mostHidden) return;
    this.#forgetHidden();
    this.#isFromLog = true;
  }

  #forgetHidden(): void {
    this.#hidden = [];
    this.#hiddenUnits = 0;
  }

  /** Shows the events that may be shown, and makes the rest durable. */
  #publish(record: Logged): void {
    const { log, shown } = record;
    // Without readers nothing has to be shown. New readers are answered once all that was written is durable.
    if (this.#subscribers.size === 0) {
      this.#forgetHidden();
      this.#isFromLog = false;
      shown.durableTo(log.stored);
      return;
    }
    const limit = shown.upTo(log.last);
    if (this.#isFromLog) {
      this.#isFromLog = limit < log.last;
      this.#subscribers.publish(undefined);
    }
    const count = this.#hidden.findLastIndex(({ id }) => id <= limit) + 1;
    if (count > 0) this.#subscribers.publish(forReaders(this.#take(count)));
    // Events that arrive while durability is awaited are stored together.
    if (limit < log.last && !this.#awaitsDurable) log.store();
    this.#awaitDurable(record);
  }

  #take(count: number): NumberedEvent[] {
    if (count === this.#hidden.length) {
      const all = this.#hidden;
      this.#forgetHidden();
      return all;
    }
    const taken = this.#hidden.splice(0, count);
    this.#hiddenUnits -= unitsOf(taken);
    return taken;
  }

  #awaitDurable(record: Logged): void {
    const { stored } = record.log;
    if (this.#awaitsDurable || stored <= this.#durable) return;
    this.#awaitsDurable = true;
    // A write that fails resets the object.
    this.#storage.sync().then(
      () => {
        this.#awaitsDurable = false;
        this.#durable = stored;
        record.shown.durableTo(stored);
        this.#publish(record);
      },
      () => {},
    );
  }
}

/**
 * The line about a prediction in the service's log, which operators search by its id, its model or its
 * runner. The error's text is left out: it may quote a container, and so its input.
 */

const MESSAGE = "Prediction ended";

/** Logs the end: always when the service itself has failed the prediction; otherwise for a sample. */
export function logEnd(env: Bindings, { spec, state }: PredictionLife): void {
  const line = {
    prediction_id: spec.id,
    user_id: spec.user_id,
    ...(spec.trace && { trace_id: spec.trace.trace_id }),
    ...(state.attempt?.runner_id && { runner_id: state.attempt.runner_id }),
    model: versionNameOf(spec),
    hardware: spec.hardware.identifier,
    status: state.status,
    ...(state.error && { error_source: state.error.source }),
    attempts: state.begun_count,
    seconds: (state.updated_at - spec.created_at) / 1_000,
    setup_seconds: state.setup_seconds,
    execution_seconds: state.execution_seconds,
  };
  if (state.error?.source === "internal") logger.warn(MESSAGE, line);
  else logger.info(settings(env).logSampleRate, MESSAGE, line);
}
