/**
 * Events that are shown before they are stored: whatever dies when, readers see each event once and in order,
 * no ID twice for different events, and no end that is not durable.
 */
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MAX_AHEAD } from "../../../src/objects/prediction/log.ts";
import { LOG_FLUSH_MS } from "../../../src/objects/prediction/log-writer.ts";
import type { EventsFrame } from "../../../src/protocol/channel.ts";
import { sized } from "../../support/sized.ts";
import { Disk, Machine } from "./log-machine.ts";
import { SECRET } from "./samples.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

type Step =
  | { kind: "report"; outputs: number }
  | { kind: "flush" | "disk" | "finish" | "fail" | "cancel" | "lose" | "webhook" | "connect" }
  | { kind: "crash"; runnerToo: boolean }
  | { kind: "join" | "leave"; reader: number };

const READERS = 3;
const reader = fc.nat({ max: READERS - 1 });
const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const just = (
  kind: "flush" | "disk" | "finish" | "fail" | "cancel" | "lose" | "webhook" | "connect",
) => fc.constant({ kind });

const step: fc.Arbitrary<Step> = fc.oneof(
  often(12, fc.record({ kind: fc.constant("report" as const), outputs: fc.nat({ max: 4 }) })),
  often(2, fc.record({ kind: fc.constant("report" as const), outputs: fc.nat({ max: 2_000 }) })),
  often(4, just("flush")),
  often(5, just("disk")),
  often(4, just("connect")),
  often(1, just("finish")),
  often(1, just("fail")),
  often(1, just("cancel")),
  often(2, just("lose")),
  often(2, just("webhook")),
  often(4, fc.record({ kind: fc.constant("crash" as const), runnerToo: fc.boolean() })),
  often(5, fc.record({ kind: fc.constantFrom("join" as const, "leave" as const), reader })),
);

interface Seen {
  id: number;
  event: string;
  data: string;
}

/** A reader that always resumes after the last event it saw. */
class Reader {
  readonly seen: Seen[] = [];
  #stream: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #text = "";
  #outputs = 0;
  readonly #distinct = new Set([""]);
  readonly #onEvent: (event: Seen) => void;

  constructor(onEvent: (event: Seen) => void) {
    this.#onEvent = onEvent;
  }

  get last(): number {
    return this.seen.at(-1)?.id ?? 0;
  }

  /** Whether an output came a second time, under another ID. */
  get sawTwice(): boolean {
    return this.#outputs > this.#distinct.size - 1;
  }

  /** Subscribes the reader once writes are durable: an answer to a reader is held back like any other. */
  join({ disk, subscribers }: Machine): void {
    if (this.#stream) return;
    const stream = subscribers.subscribe(this.last).getReader();
    this.#stream = stream;
    disk.afterDurable(() => void this.#read(stream));
  }

  leave(): void {
    void this.#stream?.cancel();
    this.drop();
  }

  /** Drops the connection and the text that was sent and not read. */
  drop(): void {
    this.#stream = undefined;
    this.#text = "";
  }

  async #read(stream: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    for (;;) {
      const { value, done } = await stream.read();
      if (done || this.#stream !== stream) return;
      const blocks = (this.#text + new TextDecoder().decode(value)).split("\n\n");
      this.#text = blocks.pop() ?? "";
      for (const block of blocks) this.#take(block);
    }
  }

  #take(block: string): void {
    const [, id, event, data] = /^(?::.*\n)*id: (\d+)\nevent: (\w+)\ndata: (.*)$/.exec(block) ?? [];
    if (id === undefined || event === undefined || data === undefined) return;
    const one = { id: Number(id), event, data };
    if (one.id <= this.last) throw new Error(`event ${one.id} came after ${this.last}`);
    this.#outputs += event === "output" ? 1 : 0;
    this.#distinct.add(event === "output" ? data : "");
    this.seen.push(one);
    this.#onEvent(one);
  }
}

class Runner {
  readonly attempt: number;
  alive = true;
  connected = false;
  readonly unacknowledged: Omit<EventsFrame, "type">[] = [];
  #seq = 0;

  constructor(attempt: number) {
    this.attempt = attempt;
  }

  make(outputs: number, finish?: EventsFrame["finish"]): Omit<EventsFrame, "type"> {
    const seq = ++this.#seq;
    const events = Array.from({ length: outputs }, (_, n) => ({
      event: "output" as const,
      data: `${this.attempt}.${seq}.${n}`,
    }));
    const frame = { seq, events, ...(finish && { finish }) };
    this.unacknowledged.push(frame);
    return frame;
  }

  acknowledged(seq: number): void {
    while (this.unacknowledged[0] && this.unacknowledged[0].seq <= seq) this.unacknowledged.shift();
  }
}

class World {
  readonly disk = new Disk();
  machine: Machine;
  runner = new Runner(1);
  finished = false;
  /** Whether a runner or its attempt ended and cannot send again: then events that were shown may be lost. */
  lossy = false;
  readonly readers: Reader[];
  readonly errors: string[] = [];
  readonly #contents = new Map<number, string>();
  readonly #webhooks = new Map<number, string>();

  readonly #mostHidden: number;

  constructor(mostHidden: number) {
    this.#mostHidden = mostHidden;
    Machine.create(this.disk);
    this.disk.settle();
    this.machine = this.#load(true);
    this.readers = Array.from({ length: READERS }, () => new Reader((one) => this.#check(one)));
    this.#connect();
  }

  run(one: Step): void {
    const { machine, runner, disk } = this;
    const now = Date.now();
    const { life } = machine;
    switch (one.kind) {
      case "report":
        return this.#report(one.outputs);
      case "finish":
        if (!this.finished) this.#report(1, { status: "succeeded", output: "items" });
        return;
      case "flush":
        vi.advanceTimersByTime(LOG_FLUSH_MS);
        return;
      case "disk":
        return disk.settle();
      case "connect":
        return this.#connect();
      case "crash":
        return this.#crash(one.runnerToo);
      case "fail":
        this.lossy = true;
        life.fail("external", "it took too long", now);
        return machine.commit();
      case "cancel":
        if (!life.requestCancel(now)) return;
        this.lossy ||= life.terminal;
        return machine.commit();
      case "lose":
        return this.#lose(now);
      case "webhook":
        // An `output` webhook is planned like this: with the log as of now.
        if (!machine.produced) return;
        machine.save();
        return this.#plan(`output ${runner.attempt}`, machine.log.last);
      case "join":
        return this.readers[one.reader]?.join(machine);
      case "leave":
        return this.readers[one.reader]?.leave();
    }
  }

  /** Brings the prediction to its end, and every reader with it. */
  async finish(): Promise<void> {
    this.disk.settle();
    if (!this.runner.alive && !this.machine.life.terminal) this.run({ kind: "fail" });
    this.#connect();
    this.disk.settle();
    this.run({ kind: "finish" });
    vi.advanceTimersByTime(LOG_FLUSH_MS);
    this.disk.settle();
    await turns();
    for (const one of this.readers) one.join(this.machine);
    await turns();
  }

  get stored(): Seen[] {
    return this.disk.durable.flatMap(([id, body]) =>
      JSON.parse(body).events.map(
        ({ event, data }: { event: string; data: unknown }, n: number) => ({
          id: id + n,
          event,
          data: JSON.stringify(data),
        }),
      ),
    );
  }

  #report(outputs: number, finish?: EventsFrame["finish"]): void {
    const { runner } = this;
    if (!runner.alive || this.finished) return;
    this.finished = finish !== undefined;
    const frame = runner.make(outputs, finish);
    if (runner.connected) this.machine.frame(runner.attempt, frame, Date.now());
  }

  #connect(): void {
    const { runner, machine, disk } = this;
    if (!runner.alive || runner.connected || !machine.life.acceptsFrom(runner.attempt)) return;
    if (machine.life.confirmAttempt(runner.attempt)) machine.commit();
    const seq = machine.writer.settle(machine, runner.attempt);
    disk.afterDurable(() => {
      runner.connected = true;
      runner.acknowledged(seq);
      for (const frame of runner.unacknowledged) machine.frame(runner.attempt, frame, Date.now());
    });
  }

  #lose(now: number): void {
    const { machine } = this;
    const { life } = machine;
    if (life.terminal || !life.state.attempt) return;
    this.lossy = true;
    if (life.state.attempt.started_at === null) life.expireHandout(now);
    else life.lose(machine.produced, now);
    machine.commit();
    const attempt = life.openAttempt(SECRET, now);
    if (!attempt) return;
    machine.commit();
    this.runner = new Runner(attempt.number);
    this.finished = false;
  }

  #crash(runnerToo: boolean): void {
    vi.clearAllTimers();
    this.disk.crash();
    for (const one of this.readers) one.drop();
    this.machine = this.#load();
    this.runner.connected = false;
    if (runnerToo) {
      this.runner.alive = false;
      this.lossy = true;
    }
    // A second attempt that was opened and never durable is undone, because its runner was never told of it.
    const { attempt } = this.machine.life.state;
    if (attempt && attempt.number !== this.runner.attempt) {
      this.runner = new Runner(attempt.number);
      this.runner.alive = false;
    }
  }

  #load(isNew = false): Machine {
    const onAck = (attempt: number, seq: number) => {
      if (attempt === this.runner.attempt) this.runner.acknowledged(seq);
    };
    return new Machine(this.disk, onAck, isNew, this.#mostHidden);
  }

  /** Records a webhook that is sent once it is durable. */
  #plan(what: string, id: number): void {
    this.disk.afterDurable(() => {
      if (id > this.disk.durableLast) this.errors.push(`webhook ${id} is of no stored event`);
      const before = this.#webhooks.get(id) ?? what;
      if (before !== what) this.errors.push(`webhook ${id} is ${before} and ${what}`);
      this.#webhooks.set(id, what);
    });
  }

  #check({ id, event, data }: Seen): void {
    const content = `${event} ${data}`;
    const before = this.#contents.get(id) ?? content;
    if (before !== content) this.errors.push(`event ${id} is ${before} and ${content}`);
    this.#contents.set(id, content);
    const { durableLast } = this.disk;
    const isOwn =
      event === "done" || event === "error" || /lost|succeeded|failed|canceled/.test(data);
    if (isOwn && id > durableLast) this.errors.push(`${content} was shown before it was durable`);
    if (id - durableLast > MAX_AHEAD) this.errors.push(`${id} was shown at ${durableLast}`);
  }
}

/** Waits until the streams have delivered. */
async function turns(): Promise<void> {
  for (let n = 0; n < 40; n++) await Promise.resolve();
}

/** Steps in which a first frame is shown and never durable, and another attempt dies and then begins. */
const UNSTARTED_AND_GONE: Step[] = [
  { kind: "join", reader: 0 },
  { kind: "report", outputs: 1 },
  { kind: "crash", runnerToo: true },
  { kind: "lose" },
  { kind: "disk" },
  { kind: "crash", runnerToo: false },
  { kind: "connect" },
  { kind: "disk" },
  { kind: "join", reader: 0 },
  { kind: "report", outputs: 1 },
];

/** Steps in which as many events are shown as allowed, and none of them becomes durable. */
const ALL_LOST: Step[] = [
  { kind: "join", reader: 0 },
  { kind: "report", outputs: MAX_AHEAD - 1 },
  { kind: "crash", runnerToo: true },
  { kind: "fail" },
];

/** Expects that readers of lost events see a gap in the IDs after them: numbers made from IDs skip there. */
function expectGap(seen: Seen[], stored: Seen[]): void {
  const isLost = (id: number) => stored.every((one) => one.id !== id);
  const hidden = seen.filter(
    ({ id }, n) => isLost(seen[n - 1]?.id ?? 1) && !isLost(id) && id - 1 === seen[n - 1]?.id,
  );
  expect(hidden).toEqual([]);
}

test.each([
  ["as they come", Number.POSITIVE_INFINITY],
  ["from the log, when too many wait", 30],
])(
  "readers see each event once and in order, no ID twice and no end before it is durable: %s",
  async (_, most) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
        vi.clearAllTimers();
        const world = new World(most);
        for (const one of steps) {
          world.run(one);
          await turns();
        }
        await world.finish();
        expect(world.errors).toEqual([]);
        const { stored } = world;
        expect(stored.at(-1)?.event).toBe("done");
        for (const { seen, sawTwice } of world.readers) {
          expect(sawTwice).toBe(false);
          const missed = stored.filter(({ id }) => !seen.some((one) => one.id === id));
          expect(missed).toEqual([]);
          expectGap(seen, stored);
          if (!world.lossy) expect(seen).toEqual(stored);
        }
      }),
      { numRuns: sized(100, 500), examples: [[UNSTARTED_AND_GONE], [ALL_LOST]] },
    );
  },
  60_000,
);
