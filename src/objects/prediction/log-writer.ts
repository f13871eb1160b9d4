/**
 * When events are stored, acknowledged and shown. A frame is shown when it comes, stored with the
 * others of the last 250 ms, and acknowledged then.
 */
import { paceOf } from "../../domain/predictions/pace.ts";
import type { Channels } from "./channels.ts";
import { forReaders, type NumberedEvent } from "./log-events.ts";
import type { LogTotals } from "./log-totals.ts";
import type { PredictionRecord } from "./record.ts";
import type { Subscribers } from "./subscribers.ts";

/** What runner and object lose at most if they die together. A row every 30 ms cost six times as much. */
export const LOG_FLUSH_MS = 250;

type Storage = Pick<DurableObjectStorage, "sync">;
type Runners = Pick<Channels, "tell">;
/** What of a record it works on. */
type Logged = Pick<PredictionRecord, "log" | "shown" | "life" | "outbox">;

export class LogWriter {
  readonly #storage: Storage;
  readonly #channels: Runners;
  readonly #subscribers: Subscribers;
  #timer: number | null = null;
  /** What the runner knows to be stored: the totals of that moment. */
  #acknowledged: Readonly<LogTotals> | undefined;
  /** Numbered, and not shown yet. */
  #hidden: NumberedEvent[] = [];
  #awaitsDurable = false;
  /** The id of the last event that was awaited. */
  #durable = 0;

  constructor(storage: Storage, channels: Runners, subscribers: Subscribers) {
    this.#storage = storage;
    this.#channels = channels;
    this.#subscribers = subscribers;
  }

  /**
   * Shows what was added to the log, and stores it now or soon.
   * @param held to be shown once it is durable
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

  /** Stores all, so that the runner of an attempt can be told what is. @returns its last frame */
  settle(record: Logged, attempt: number): number {
    record.log.store();
    this.#acknowledged = record.log.storedTotals;
    return record.log.seqOf(attempt);
  }

  /** The shortest time between two frames of its runner, ms. */
  paceOf(record: Logged): number {
    return paceOf(this.#subscribers.size > 0, record.outbox?.wantsOutput ?? false);
  }

  /** Its first reader has come: the runner sends what it has gathered. */
  quicken(record: Logged): void {
    const { attempt } = record.life.state;
    if (!attempt) return;
    this.#channels.tell(attempt.number, { type: "pace", flush_ms: this.paceOf(record) });
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
    this.#channels.tell(attempt, { type: "ack", seq, flush_ms: this.paceOf(record) });
  }

  #show(record: Logged, held: boolean): void {
    const { log, shown } = record;
    const added = log.takeNew();
    const [first] = added;
    if (!first) return;
    if (held) shown.hold(first.id - 1, log.last);
    this.#hidden.push(...added);
    this.#publish(record);
  }

  /** Shows what may be shown, and makes the rest durable. */
  #publish(record: Logged): void {
    const { log, shown } = record;
    // Nobody sees it now, and who comes is answered once all that was written is durable.
    if (this.#subscribers.size === 0) {
      this.#hidden = [];
      shown.durableTo(log.stored);
      return;
    }
    const limit = shown.upTo(log.last);
    const count = this.#hidden.findLastIndex(({ id }) => id <= limit) + 1;
    if (count > 0) this.#subscribers.publish(forReaders(this.#hidden.splice(0, count)));
    // What comes while that is awaited is stored together.
    if (this.#hidden.length > 0 && !this.#awaitsDurable) log.store();
    this.#awaitDurable(record);
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
