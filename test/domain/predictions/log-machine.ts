/**
 * A prediction's object in memory, with a disk that is slow: what is written is durable only when the
 * test says so, and what the platform holds back until then (replies, acks, webhooks) is held back.
 */
import { PredictionLife } from "../../../src/domain/predictions/life.ts";
import { EventLog, NOTHING_BEFORE } from "../../../src/objects/prediction/log.ts";
import { encodeEvents } from "../../../src/objects/prediction/log-events.ts";
import type { RowStore } from "../../../src/objects/prediction/log-rows.ts";
import { LogWriter } from "../../../src/objects/prediction/log-writer.ts";
import { beforeOf } from "../../../src/objects/prediction/record.ts";
import { Shown } from "../../../src/objects/prediction/shown.ts";
import { Subscribers } from "../../../src/objects/prediction/subscribers.ts";
import type { EventsFrame } from "../../../src/protocol/channel.ts";
import { SECRET, specWith } from "./samples.ts";

type Stored = { rows: [number, string][]; state: string };

interface Held {
  version: number;
  act: () => void;
}

export class Disk implements RowStore {
  /** What is durable, and the id of its last event. */
  durable: Stored = { rows: [], state: "" };
  durableLast = 0;
  state = "";
  #rows: [number, string][] = [];
  #version = 0;
  #durableVersion = 0;
  #held: Held[] = [];

  append(id: number, body: string): void {
    if (this.#rows.some(([other]) => other >= id)) throw new Error(`row ${id} comes too late`);
    this.#rows.push([id, body]);
    this.#version += 1;
  }

  save(state: string): void {
    this.state = state;
    this.#version += 1;
  }

  last() {
    const [id, body] = this.#rows.at(-1) ?? [0, ""];
    return { id, body };
  }

  *frames(eventId: number) {
    const first = this.#rows.findLastIndex(([id]) => id <= eventId);
    for (const [id, body] of this.#rows.slice(Math.max(0, first))) yield { id, body };
  }

  /** Once all that is written now is durable; never if the object dies before. */
  afterDurable(act: () => void): void {
    if (this.#durableVersion === this.#version) act();
    else this.#held.push({ version: this.#version, act });
  }

  settle(): void {
    this.durable = { rows: [...this.#rows], state: this.state };
    this.durableLast = lastIdOf(this.#rows);
    this.#durableVersion = this.#version;
    for (const { act } of this.#held.splice(0)) act();
  }

  crash(): void {
    this.#rows = [...this.durable.rows];
    this.state = this.durable.state;
    this.#durableVersion = this.#version;
    this.#held = [];
  }
}

export function lastIdOf(rows: [number, string][]): number {
  const [id, body] = rows.at(-1) ?? [1, '{"events":[]}'];
  return id + JSON.parse(body).events.length - 1;
}

/** As Effects and RunnerConnection have it. */
export class Machine {
  readonly disk: Disk;
  readonly life: PredictionLife;
  readonly log: EventLog;
  readonly shown: Shown;
  readonly outbox = undefined;
  readonly writer: LogWriter;
  readonly subscribers = new Subscribers({
    page: (after) => this.log.page(after, this.shown.upTo(this.log.last)),
    last: () => this.shown.upTo(this.log.last),
    ended: () => this.life.terminal && this.shown.upTo(this.log.last) === this.log.last,
    open: () => Promise.reject(new Error("nothing is stored elsewhere")),
  });

  /** @param isNew it created the prediction; otherwise it was loaded, after another one */
  constructor(disk: Disk, onAck: (attempt: number, seq: number) => void, isNew: boolean) {
    this.disk = disk;
    this.life = new PredictionLife(specWith(), JSON.parse(disk.state));
    this.log = EventLog.load(disk, isNew ? NOTHING_BEFORE : beforeOf(this.life));
    this.shown = new Shown(this.log.stored);
    const sync = () => new Promise<void>((resolve) => disk.afterDurable(resolve));
    const tell = (attempt: number, frame: { type: string; seq?: number }) => {
      const { seq } = frame;
      if (seq !== undefined) disk.afterDurable(() => onAck(attempt, seq));
    };
    this.writer = new LogWriter({ sync }, { tell }, this.subscribers);
  }

  static create(disk: Disk): void {
    const [life] = PredictionLife.begin(specWith(), SECRET);
    disk.append(1, EventLog.firstRow(life.takeEvents()));
    disk.save(JSON.stringify(life.state));
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
    this.log.store();
    this.disk.save(JSON.stringify(this.life.state));
  }

  /** Whether output of the open attempt is stored or shown. */
  get produced(): boolean {
    const { attempt, outputs } = this.log.totals;
    return attempt === this.life.outputAttempt && outputs > 0;
  }
}
