import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MEGABYTE, ReadTurn } from "../../../runner/src/interfaces/large-reads.ts";
import { Mutex } from "../../../runner/src/lib/mutex.ts";

const TURN_MS = 1_000;
const { signal: never } = new AbortController();

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open(mutex: Mutex, end: AbortSignal = never) {
  const onStalled = vi.fn<() => void>();
  return { turn: new ReadTurn({ mutex, turnMs: TURN_MS, end, onStalled }), onStalled };
}

/** Resolves to whether the promise has settled. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  void promise.finally(() => {
    done = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  return done;
}

test("a turn without waiters lasts as long as a megabyte comes in its time", async () => {
  const { turn, onStalled } = open(new Mutex());
  await turn.begin(never);
  for (let n = 1; n <= 10; n++) {
    await turn.progress(n * MEGABYTE);
    await vi.advanceTimersByTimeAsync(TURN_MS);
  }
  expect(onStalled).not.toHaveBeenCalled();
  await turn.progress(11 * MEGABYTE - 1);
  await vi.advanceTimersByTimeAsync(TURN_MS);
  expect(onStalled).toHaveBeenCalledOnce();
});

test("a turn that has lasted its time goes to a waiter, and comes back later", async () => {
  const mutex = new Mutex();
  const [slow, other] = [open(mutex), open(mutex)];
  await slow.turn.begin(never);
  await slow.turn.progress(MEGABYTE);
  const begun = other.turn.begin(never);
  expect(await settled(begun)).toBe(false);
  await vi.advanceTimersByTimeAsync(TURN_MS);
  const more = slow.turn.progress(MEGABYTE + 1);
  expect(await settled(begun)).toBe(true);
  // The time of a turn stops while it waits.
  await other.turn.progress(MEGABYTE);
  await vi.advanceTimersByTimeAsync(TURN_MS);
  expect(slow.onStalled).not.toHaveBeenCalled();
  expect(await settled(more)).toBe(false);
  other.turn.end();
  expect(await settled(more)).toBe(true);
  slow.turn.end();
  expect(mutex.length).toBe(0);
});

test("a wait for another turn ends with its end", async () => {
  const mutex = new Mutex();
  const over = new AbortController();
  const [slow, other] = [open(mutex, over.signal), open(mutex)];
  await slow.turn.begin(never);
  await slow.turn.progress(MEGABYTE);
  const begun = other.turn.begin(never);
  await vi.advanceTimersByTimeAsync(TURN_MS);
  const more = slow.turn.progress(MEGABYTE + 1);
  await begun;
  over.abort("over");
  await expect(more).rejects.toBe("over");
  slow.turn.end();
  other.turn.end();
  expect(mutex.length).toBe(0);
});
