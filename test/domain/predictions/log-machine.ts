/**
 * A prediction's object in memory with a slow disk: writes are durable only when the test says so, and
 * replies, acknowledgements and webhooks that the platform holds back until then are held back.
 */
import { PredictionLife } from "../../../src/domain/predictions/life.ts";
import { EventLog, NOTHING_BEFORE, PublishWatermark } from "../../../src/objects/prediction/log.ts";
import { encodeEvents } from "../../../src/objects/prediction/log-events.ts";
import { LogRows, type RowStore } from "../../../src/objects/prediction/log-rows.ts";
import { LogWriter } from "../../../src/objects/prediction/log-writer.ts";
import { beforeOf } from "../../../src/objects/prediction/record.ts";
import { Subscribers } from "../../../src/objects/prediction/subscribers.ts";
import type { EventsFrame } from "../../../src/protocol/channel.ts";
import { SECRET, specWith } from "./samples.ts";

interface Held {
  version: number;
  act: () => void;
}

export class Disk implements RowStore {
  /** The rows that are durable, and the id of their last event. */
  durable: [number, string][] = [];
  durableLast = 0;
  #rows: [number, string][] = [];
  #version = 0;
  #durableVersion = 0;
  #held: Held[] = [];

  put(id: number, body: string): void {
    const last = this.#rows.at(-1);
    if (last && last[0] > id) throw new Error(`row ${id} comes too late`);
    if (last?.[0] === id) {
      if (JSON.parse(last[1]).events.length > 0) throw new Error(`row ${id} is lost`);
      this.#rows.pop();
    }
    this.#rows.push([id, body]);
    this.#version += 1;
  }

  row(id: number): string {
    const found = this.#rows.find(([other]) => other === id);
    if (!found) throw new Error(`row ${id} is missing`);
    return found[1];
  }

  /** `putState` is for states that exceed a row, which no state of these tests does. */
  putState(): void {
    throw new Error("the state is not large");
  }

  state(): string {
    throw new Error("the state is in a row");
  }

  last() {
    const [id, body] = this.#rows.at(-1) ?? [0, ""];
    return { id, body };
  }

  *frames(eventId: number) {
    const first = this.#rows.findLastIndex(([id]) => id <= eventId);
    for (const [id, body] of this.#rows.slice(Math.max(0, first))) yield { id, body };
  }

  next(eventId: number) {
    const [id, body] = this.#rows.find(([other]) => other >= eventId) ?? [];
    return id === undefined || body === undefined ? undefined : { id, body };
  }

  /** Calls `act` once all current writes are durable, and never if the object dies before. */
  afterDurable(act: () => void): void {
    if (this.#durableVersion === this.#version) act();
    else this.#held.push({ version: this.#version, act });
  }

  settle(): void {
    this.durable = [...this.#rows];
    this.durableLast = lastIdOf(this.#rows);
    this.#durableVersion = this.#version;
    for (const { act } of this.#held.splice(0)) act();
  }

  crash(): void {
    this.#rows = [...this.durable];
    this.#durableVersion = this.#version;
    this.#held = [];
  }
}

function lastIdOf(rows: [number, string][]): number {
  const [id, body] = rows.at(-1) ?? [1, '{"events":[]}'];
  return id + JSON.parse(body).events.length - 1;
}

/** A prediction's object, put together like `Effects` and `RunnerConnection` do it. */
export class Machine {
  readonly disk: Disk;
  readonly life: PredictionLife;
  readonly log: EventLog;
  readonly shown: PublishWatermark;
  readonly outbox = undefined;
  readonly writer: LogWriter;
  readonly subscribers = new Subscribers({
    page: (after) => this.log.page(after, this.shown.upTo(this.log.last)),
    last: () => this.shown.upTo(this.log.last),
    ended: () => this.life.terminal && this.shown.upTo(this.log.last) === this.log.last,
    open: () => Promise.reject(new Error("nothing is stored elsewhere")),
  });

  /**
   * @param isNew it created the prediction; otherwise it was loaded, after another one
   * @param mostHidden UTF-16 units that wait to be shown
   */
  constructor(
    disk: Disk,
    onAck: (attempt: number, seq: number) => void,
    isNew: boolean,
    mostHidden: number,
  ) {
    this.disk = disk;
    const { rows, end, state } = LogRows.load(disk);
    this.life = new PredictionLife(specWith(), state);
    this.log = EventLog.load(rows, end, isNew ? NOTHING_BEFORE : beforeOf(this.life));
    this.shown = new PublishWatermark(this.log.stored);
    const sync = () => new Promise<void>((resolve) => disk.afterDurable(resolve));
    const send = (attempt: number, frame: { type: string; seq?: number }) => {
      const { seq } = frame;
      if (seq !== undefined) disk.afterDurable(() => onAck(attempt, seq));
    };
    this.writer = new LogWriter({ sync }, { send }, this.subscribers, mostHidden);
  }

  static create(disk: Disk): void {
    const [life] = PredictionLife.begin(specWith(), SECRET);
    disk.put(1, LogRows.first(encodeEvents(life.takeEvents()), JSON.stringify(life.state)));
  }

  frame(attempt: number, { seq, events, finish }: Omit<EventsFrame, "type">, now: number): void {
    const { life, log } = this;
    if (!life.acceptsFrom(attempt) || seq <= log.seqOf(attempt)) return;
    if (seq !== log.seqOf(attempt) + 1) throw new Error(`frame ${seq} leaves a gap`);
    life.start(now);
    const own = life.takeEvents();
    log.addOwn(encodeEvents(own), attempt);
    const reported = encodeEvents(events);
    log.add(reported, log.totalsWith(attempt, seq, reported));
    if (finish) life.finish(finish, now);
    this.commit(own.length > 0 || finish !== undefined, own.length > 0 && attempt > 1);
  }

  commit(changed = true, held = false): void {
    const { life, log } = this;
    const own = life.takeEvents();
    if (life.terminal && own.length > 0) own.push({ event: "done", data: {} });
    log.addOwn(encodeEvents(own));
    if (changed) this.save();
    this.writer.added(this, held || own.length > 0);
  }

  save(): void {
    this.log.store(JSON.stringify(this.life.state));
  }

  /** Whether output of the open attempt is stored or shown. */
  get produced(): boolean {
    const { attempt, outputs } = this.log.totals;
    return attempt === this.life.outputAttempt && outputs > 0;
  }
}
