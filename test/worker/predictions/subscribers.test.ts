/** Subscribers of a stream: slow ones read the log, heartbeats, limits. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { encodeEvent, HEARTBEAT } from "../../../src/lib/sse.ts";
import type {
  EncodedEvents,
  ShownEvents,
  StoredEvent,
} from "../../../src/objects/prediction/log-events.ts";
import { Subscribers } from "../../../src/objects/prediction/subscribers.ts";
import { EventReader } from "../support/events.ts";
import { fakeTimers } from "../support/time.ts";

beforeEach(fakeTimers);
afterEach(() => vi.useRealTimers());

/** A log in memory, one event a frame, with at most three frames a page. */
class Log {
  readonly subscribers = new Subscribers({
    page: (after) => this.#page(after),
    last: () => this.#frames.length,
    ended: () => this.#ended,
    open: async (name) => {
      const value = this.#values.get(name);
      if (!value) throw new Error(`${name} is not there`);
      return value;
    },
  });
  pages = 0;
  readonly #frames: (string | StoredEvent)[] = [];
  readonly #values = new Map<string, ReadableStream<Uint8Array>>();
  #ended = false;

  append(text: string, last = false): void {
    this.#frames.push(encodeEvent(this.#frames.length + 1, "output", text));
    this.#ended = last;
    this.subscribers.publish(encoded(this.#frames.length, text));
  }

  /** Appends an event whose value is stored elsewhere; without `value` it is missing. */
  appendStored(name: string, value?: ReadableStream<Uint8Array>): void {
    if (value) this.#values.set(name, value);
    this.#frames.push({ id: this.#frames.length + 1, stored: { name, size: 1 } });
    this.subscribers.publish(undefined);
  }

  #page(after: number): EncodedEvents | StoredEvent | undefined {
    const texts: string[] = [];
    for (const frame of this.#frames.slice(after, after + 3)) {
      if (typeof frame === "string") texts.push(frame);
      else if (texts.length === 0) return frame;
      else break;
    }
    if (texts.length === 0) return undefined;
    this.pages += 1;
    return { last: after + texts.length, bytes: encoder.encode(texts.join("")) };
  }
}

const encoder = new TextEncoder();

const encoded = (id: number, text: string): ShownEvents => ({
  first: id,
  last: id,
  bytes: encoder.encode(encodeEvent(id, "output", text)),
});

/** A value of `pieces` pieces of 64 KiB: JSON text, made only as it is read. */
function valueIn(pieces: number) {
  const value = {
    taken: 0,
    canceled: false,
    stream: new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const ends = value.taken === 0 || value.taken === pieces + 1;
          controller.enqueue(encoder.encode(ends ? '"' : "x".repeat(PIECE)));
          if (value.taken++ > pieces) controller.close();
        },
        cancel() {
          value.canceled = true;
        },
      },
      { highWaterMark: 0 },
    ),
  };
  return value;
}

const PIECE = 64 * 1024;
const settled = () => Promise.resolve().then(() => Promise.resolve());

test("a reader that keeps up is handed what comes, and reads the log only once", async () => {
  const log = new Log();
  log.append("0");
  const reader = new EventReader(log.subscribers.subscribe(0));
  expect(await reader.next()).toMatchObject({ id: 1 });
  for (let n = 2; n <= 50; n++) {
    log.append(`${n}`);
    expect(await reader.next()).toMatchObject({ id: n, data: `${n}` });
  }
  expect(log.pages).toBe(1);
});

test("readers that are a little behind get the events shown last, and read no page of the log", async () => {
  const log = new Log();
  log.append("0");
  const readers = [1, 2, 3].map(() => new EventReader(log.subscribers.subscribe(0)));
  for (const reader of readers) expect(await reader.next()).toMatchObject({ id: 1 });
  await settled();
  const text = "x".repeat(10_000);
  for (let n = 2; n <= 21; n++) log.append(`${n}:${text}`, n === 21);
  for (const reader of readers) {
    const rest = await reader.rest();
    expect(rest.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, n) => n + 2));
    expect(rest.every(({ id, data }) => data === `${id}:${text}`)).toBe(true);
  }
  expect(log.pages).toBe(readers.length);
});

test("a slow reader falls back to the log and gets every event exactly once, in order", async () => {
  const log = new Log();
  const text = "x".repeat(10_000);
  const slow = new EventReader(log.subscribers.subscribe(0));
  const quick = new EventReader(log.subscribers.subscribe(0));
  for (let n = 1; n <= 80; n++) {
    log.append(`${n}:${text}`, n === 80);
    expect((await quick.next())?.id).toBe(n);
    if (n % 20 === 0) expect((await slow.next())?.id).toBe(n / 20);
  }
  const rest = await slow.rest();
  expect(rest.map(({ id }) => id)).toEqual(Array.from({ length: 76 }, (_, n) => n + 5));
  expect(rest.every(({ id, data }) => data === `${id}:${text}`)).toBe(true);
  expect(await quick.rest()).toEqual([]);
  expect(log.pages).toBeGreaterThan(3);
  expect(log.subscribers.size).toBe(0);
});

test("the buffer of a slow reader is bounded, however much it misses", async () => {
  const log = new Log();
  const stream = log.subscribers.subscribe(0);
  await settled();
  for (let n = 1; n <= 200; n++) log.append("x".repeat(10_000), n === 200);
  const reader = stream.getReader();
  // The buffer is what reads return before the subscriber asks the log again.
  const before = log.pages;
  let buffered = 0;
  for (let at = log.pages; at === before; at = log.pages) {
    const { value, done } = await reader.read();
    if (done) break;
    buffered += value.byteLength;
  }
  expect(buffered).toBeLessThan(200_000);
});

test("a reader who comes after the end gets all events, and the stream closes", async () => {
  const log = new Log();
  for (let n = 1; n <= 10; n++) log.append(`${n}`, n === 10);
  const reader = new EventReader(log.subscribers.subscribe(4));
  expect((await reader.rest()).map(({ id }) => id)).toEqual([5, 6, 7, 8, 9, 10]);
  expect(log.subscribers.size).toBe(0);
});

test("a heartbeat comes every 15 s", async () => {
  const log = new Log();
  const raw = log.subscribers.subscribe(0).getReader();
  const reading = raw.read();
  await settled();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(new TextDecoder().decode((await reading).value)).toBe(HEARTBEAT);
  const next = raw.read();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(new TextDecoder().decode((await next).value)).toBe(HEARTBEAT);
});

test("readers that come more often than heartbeats do not delay them", async () => {
  const log = new Log();
  const raw = log.subscribers.subscribe(0).getReader();
  const reading = raw.read();
  for (let n = 0; n < 3; n++) {
    await settled();
    await vi.advanceTimersByTimeAsync(5_000);
    log.subscribers.subscribe(0);
  }
  expect(new TextDecoder().decode((await reading).value)).toBe(HEARTBEAT);
});

test("the idle limit counts from the last event, and heartbeats do not count", async () => {
  const log = new Log();
  const reader = new EventReader(log.subscribers.subscribe(0, { idle_seconds: 40 }));
  const reading = reader.rest();
  await settled();
  await vi.advanceTimersByTimeAsync(30_000);
  log.append("late");
  await vi.advanceTimersByTimeAsync(39_000);
  expect(log.subscribers.size).toBe(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await reading).toMatchObject([{ data: "late" }]);
  expect(reader.comments).toBeGreaterThan(2);
  expect(log.subscribers.size).toBe(0);
});

test("a stream with a time limit closes between two events, and is resumed", async () => {
  const log = new Log();
  const reading = new EventReader(log.subscribers.subscribe(0, { lifetime_seconds: 300 })).rest();
  for (let n = 0; n < 29; n++) {
    await vi.advanceTimersByTimeAsync(10_000);
    log.append(`${n}`);
  }
  expect(log.subscribers.size).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(log.subscribers.size).toBe(0);
  log.append("end", true);
  const first = await reading;
  expect(first).toHaveLength(29);
  const second = await new EventReader(
    log.subscribers.subscribe(29, { lifetime_seconds: 300 }),
  ).rest();
  expect(second).toMatchObject([{ data: "end" }]);
});

test("without a limit a quiet stream stays open", async () => {
  const log = new Log();
  const reader = new EventReader(log.subscribers.subscribe(0));
  const reading = reader.rest();
  for (let minute = 0; minute < 60; minute++) await vi.advanceTimersByTimeAsync(60_000);
  expect(log.subscribers.size).toBe(1);
  log.append("after an hour", true);
  expect(await reading).toMatchObject([{ data: "after an hour" }]);
});

test("a reader that takes nothing for a minute is closed with a comment", async () => {
  const log = new Log();
  const stream = log.subscribers.subscribe(0);
  await settled();
  for (let n = 0; n < 10; n++) log.append("x".repeat(10_000));
  await vi.advanceTimersByTimeAsync(80_000);
  expect(log.subscribers.size).toBe(0);
  await expect(new Response(stream).text()).rejects.toThrow("after_id");
});

test("a reader that leaves is removed together with its timer", async () => {
  const log = new Log();
  const reader = log.subscribers.subscribe(0).getReader();
  await settled();
  await reader.cancel();
  expect(log.subscribers.size).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
  log.append("x");
});

test("readers of a log that is removed are closed and removed", async () => {
  const log = new Log();
  const reader = log.subscribers.subscribe(0).getReader();
  await settled();
  log.subscribers.abort(new Error("It is gone."));
  await expect(reader.read()).rejects.toThrow("gone");
  expect(log.subscribers.size).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test("a stored value comes in its place, to a live reader and to one who lags", async () => {
  const log = new Log();
  log.append("before");
  const quick = new EventReader(log.subscribers.subscribe(0));
  expect(await quick.next()).toMatchObject({ id: 1 });
  log.appendStored("v", valueIn(3).stream);
  log.append("after", true);
  const [value, ...rest] = await quick.rest();
  expect(value).toEqual({ id: 2, event: "output", data: "x".repeat(3 * PIECE) });
  expect(rest).toEqual([{ id: 3, event: "output", data: "after" }]);
});

test("a stored value of 10 MB is read no further than its reader takes", async () => {
  const log = new Log();
  const value = valueIn(160);
  log.appendStored("v", value.stream);
  log.append("after", true);
  const reader = log.subscribers.subscribe(0).getReader();
  await settled();
  expect(value.taken).toBeLessThan(4);
  let read = 0;
  for (let { value: bytes } = await reader.read(); bytes; { value: bytes } = await reader.read()) {
    read += bytes.byteLength;
    await settled();
    expect(value.taken * PIECE - read).toBeLessThan(4 * PIECE);
  }
  expect(read).toBeGreaterThan(160 * PIECE);
});

test("no heartbeat falls into a stored value, however long it takes", async () => {
  const log = new Log();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  log.appendStored("v", readable);
  const text = new Response(log.subscribers.subscribe(0)).text();
  for (const piece of ['"a', "b", 'c"']) {
    await writer.write(encoder.encode(piece));
    await vi.advanceTimersByTimeAsync(40_000);
  }
  await writer.close();
  await vi.advanceTimersByTimeAsync(20_000);
  log.append("end", true);
  const heartbeat = text.then((all) => all.split(HEARTBEAT));
  expect((await heartbeat).join("")).toBe(
    `id: 1\nevent: output\ndata: "abc"\n\n${encodeEvent(2, "output", "end")}`,
  );
  expect((await heartbeat).length).toBeGreaterThan(1);
});

test("a stored value that takes longer than the idle limit, but comes, is no silence", async () => {
  const log = new Log();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  log.appendStored("v", readable);
  const reading = new EventReader(log.subscribers.subscribe(0, { idle_seconds: 30 })).rest();
  for (const piece of ['"a', "b", "c", 'd"']) {
    await writer.write(encoder.encode(piece));
    await vi.advanceTimersByTimeAsync(20_000);
  }
  expect(log.subscribers.size).toBe(1);
  await writer.close();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await reading).toMatchObject([{ data: "abcd" }]);
});

test("a stored value that is gone, or breaks, breaks the stream off", async () => {
  const gone = new Log();
  gone.append("before");
  gone.appendStored("v");
  gone.append("after", true);
  const broken = new Log();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  broken.append("before");
  broken.appendStored("v", readable);
  const writer = writable.getWriter();
  const halves = writer.write(encoder.encode('"half')).then(() => writer.abort("R2 is down"));
  for (const log of [gone, broken]) {
    const reader = new EventReader(log.subscribers.subscribe(0));
    expect(await reader.next()).toMatchObject({ id: 1, data: "before" });
    await expect(reader.rest()).rejects.toThrow();
    expect(log.subscribers.size).toBe(0);
  }
  await halves;
});

test.each(["leaves", "takes nothing for a minute"])(
  "a reader that %s within a stored value cancels the value",
  async (how) => {
    const log = new Log();
    const value = valueIn(160);
    log.appendStored("v", value.stream);
    const reader = log.subscribers.subscribe(0).getReader();
    await reader.read();
    if (how === "leaves") await reader.cancel();
    else await vi.advanceTimersByTimeAsync(80_000);
    await settled();
    expect(log.subscribers.size).toBe(0);
    expect(value.canceled).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    log.append("more", true);
  },
);
