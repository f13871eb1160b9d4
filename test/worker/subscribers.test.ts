/** The readers of a stream: slow ones fall back to the log, heartbeats, limits. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { encodeEvent, HEARTBEAT } from "../../src/domain/sse.ts";
import type { Encoded } from "../../src/objects/prediction/log.ts";
import { Subscribers } from "../../src/objects/prediction/subscribers.ts";
import { EventReader } from "./support/events.ts";

beforeEach(() => vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] }));
afterEach(() => vi.useRealTimers());

/** A log in memory, one event a frame, a page at most three of them. */
class Log {
  readonly subscribers = new Subscribers({
    page: (after) => this.#page(after),
    last: () => this.#frames.length,
    ended: () => this.#ended,
  });
  pages = 0;
  readonly #frames: string[] = [];
  #ended = false;

  append(text: string, last = false): void {
    this.#frames.push(encodeEvent(this.#frames.length + 1, "output", text));
    this.#ended = last;
    this.subscribers.publish(encoded(this.#frames.length, this.#frames.at(-1) ?? ""));
  }

  #page(after: number): Encoded | undefined {
    if (after >= this.#frames.length) return undefined;
    this.pages += 1;
    const last = Math.min(after + 3, this.#frames.length);
    return encoded(last, this.#frames.slice(after, last).join(""));
  }
}

const encoded = (last: number, text: string): Encoded => ({
  last,
  bytes: new TextEncoder().encode(text),
});
const settled = () => Promise.resolve().then(() => Promise.resolve());

test("a reader that keeps up is handed what comes, and reads the log only once", async () => {
  const log = new Log();
  log.append("0");
  const reader = new EventReader(log.subscribers.subscribe(0, undefined));
  expect(await reader.next()).toMatchObject({ id: 1 });
  for (let n = 2; n <= 50; n++) {
    log.append(`${n}`);
    expect(await reader.next()).toMatchObject({ id: n, data: `${n}` });
  }
  expect(log.pages).toBe(1);
});

test("a slow reader falls back to the log and gets every event exactly once, in order", async () => {
  const log = new Log();
  const text = "x".repeat(10_000);
  const slow = new EventReader(log.subscribers.subscribe(0, undefined));
  const quick = new EventReader(log.subscribers.subscribe(0, undefined));
  for (let n = 1; n <= 40; n++) {
    log.append(`${n}:${text}`, n === 40);
    expect((await quick.next())?.id).toBe(n);
    if (n % 10 === 0) expect((await slow.next())?.id).toBe(n / 10);
  }
  const rest = await slow.rest();
  expect(rest.map(({ id }) => id)).toEqual(Array.from({ length: 36 }, (_, n) => n + 5));
  expect(rest.every(({ id, data }) => data === `${id}:${text}`)).toBe(true);
  expect(await quick.rest()).toEqual([]);
  expect(log.pages).toBeGreaterThan(3);
  expect(log.subscribers.size).toBe(0);
});

test("what waits for a reader is bounded, however much it misses", async () => {
  const log = new Log();
  const stream = log.subscribers.subscribe(0, undefined);
  await settled();
  for (let n = 1; n <= 200; n++) log.append("x".repeat(10_000), n === 200);
  const reader = stream.getReader();
  // What is in the buffer by now: what one read after another gives without the log being asked.
  const before = log.pages;
  let buffered = 0;
  for (let at = log.pages; at === before; at = log.pages) {
    const { value, done } = await reader.read();
    if (done) break;
    buffered += value.byteLength;
  }
  expect(buffered).toBeLessThan(200_000);
});

test("a reader who comes after the end gets all and is let go", async () => {
  const log = new Log();
  for (let n = 1; n <= 10; n++) log.append(`${n}`, n === 10);
  const reader = new EventReader(log.subscribers.subscribe(4, undefined));
  expect((await reader.rest()).map(({ id }) => id)).toEqual([5, 6, 7, 8, 9, 10]);
  expect(log.subscribers.size).toBe(0);
});

test("a heartbeat comes every 15 s", async () => {
  const log = new Log();
  const raw = log.subscribers.subscribe(0, undefined).getReader();
  const reading = raw.read();
  await settled();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(new TextDecoder().decode((await reading).value)).toBe(HEARTBEAT);
  const next = raw.read();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(new TextDecoder().decode((await next).value)).toBe(HEARTBEAT);
});

test("the idle limit counts from the last event, and heartbeats are none", async () => {
  const log = new Log();
  const reader = new EventReader(log.subscribers.subscribe(0, 40));
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

test("without a limit a quiet stream stays open", async () => {
  const log = new Log();
  const reader = new EventReader(log.subscribers.subscribe(0, undefined));
  const reading = reader.rest();
  for (let minute = 0; minute < 60; minute++) await vi.advanceTimersByTimeAsync(60_000);
  expect(log.subscribers.size).toBe(1);
  log.append("after an hour", true);
  expect(await reading).toMatchObject([{ data: "after an hour" }]);
});

test("a reader that takes nothing for a minute is let go, with a word", async () => {
  const log = new Log();
  const stream = log.subscribers.subscribe(0, undefined);
  await settled();
  for (let n = 0; n < 10; n++) log.append("x".repeat(10_000));
  await vi.advanceTimersByTimeAsync(80_000);
  expect(log.subscribers.size).toBe(0);
  await expect(new Response(stream).text()).rejects.toThrow("after_id");
});

test("a reader that leaves is forgotten, and its timer with it", async () => {
  const log = new Log();
  const reader = log.subscribers.subscribe(0, undefined).getReader();
  await settled();
  await reader.cancel();
  expect(log.subscribers.size).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
  log.append("x");
});
