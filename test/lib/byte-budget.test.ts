/** The limit on bytes that are held: it is never exceeded, and no owner starves or waits endlessly. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BudgetExceeded, ByteBudget, type ByteLimits, Held } from "../../src/lib/byte-budget.ts";
import { duringRequest, LAPSE_MS } from "../../src/lib/current-request.ts";

const LARGEST = 10;
const ROOM: ByteLimits = { shared: 14, share: 6, waiting: 3, patience_ms: 1_000 };

const someone = (owner: string) => new Held(owner);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Resolves to whether the bytes were given. */
async function isGiven(taking: Promise<void>): Promise<boolean> {
  let given = false;
  taking.then(
    () => {
      given = true;
    },
    () => {},
  );
  await vi.advanceTimersByTimeAsync(10);
  return given;
}

describe("bytes that are held", () => {
  test("bytes are given where there is room, and the largest request always has some", async () => {
    const budget = new ByteBudget(ROOM);
    const one = someone("a");
    for (let n = 0; n < LARGEST; n++) await budget.take(one, 1);
    const others = ["b", "c", "d"].map(someone);
    for (const other of others) await budget.take(other, 4);
    expect([one, ...others].map(({ bytes }) => bytes)).toEqual([10, 4, 4, 4]);
  });

  test("bytes wait for an earlier holder, and are given when it ends", async () => {
    const budget = new ByteBudget(ROOM);
    const [first, second] = [someone("a"), someone("a")];
    await budget.take(first, 10);
    await budget.take(second, 6);
    const more = budget.take(second, 4);
    expect(await isGiven(more)).toBe(false);
    budget.release(first);
    expect(await isGiven(more)).toBe(true);
    expect(second.bytes).toBe(10);
  });

  test("bytes of one owner leave room for others", async () => {
    const budget = new ByteBudget(ROOM);
    await budget.take(someone("a"), 10);
    const own = Array.from({ length: 6 }, () => someone("a"));
    for (const held of own) await budget.take(held, 1);
    expect(await isGiven(budget.take(someone("a"), 1))).toBe(false);
    expect(await isGiven(budget.take(someone("b"), 6))).toBe(true);
  });

  test("bytes are refused after a while, and at once when many requests of an owner wait", async () => {
    const budget = new ByteBudget(ROOM);
    await budget.take(someone("a"), 10);
    await budget.take(someone("a"), 6);
    const waiting = Array.from({ length: 3 }, () => budget.take(someone("a"), 1));
    const outcomes = Promise.allSettled(waiting);
    await expect(budget.take(someone("a"), 1)).rejects.toThrow(BudgetExceeded);
    await vi.advanceTimersByTimeAsync(ROOM.patience_ms);
    expect((await outcomes).map(({ status }) => status)).toEqual(Array(3).fill("rejected"));
    // The refused requests get no bytes later.
    await expect(isGiven(budget.take(someone("b"), 6))).resolves.toBe(true);
  });

  test("bytes are given back when the client of their request disconnects", async () => {
    const budget = new ByteBudget(ROOM);
    const leaving = new AbortController();
    const ofRequest = <T>(act: () => T) =>
      duringRequest({ signal: leaving.signal, waitUntil: () => {} }, act);
    const [first, second] = [someone("a"), someone("a")];
    await ofRequest(() => budget.take(first, 10));
    await ofRequest(() => budget.take(second, 6));
    const waiting = ofRequest(() => budget.take(second, 4)).catch((error: unknown) => error);
    leaving.abort();
    expect(await isGiven(budget.take(someone("a"), 6))).toBe(true);
    await expect(ofRequest(() => budget.take(first, 1))).rejects.toBe(leaving.signal.reason);
    await vi.advanceTimersByTimeAsync(ROOM.patience_ms);
    expect(await waiting).toBeInstanceOf(BudgetExceeded);
    expect([first.bytes, second.bytes]).toEqual([0, 0]);
  });

  test("bytes lapse when the timers of their request have ended with it", async () => {
    const budget = new ByteBudget(ROOM);
    for (const bytes of [10, 6]) await budget.take(someone("a"), bytes);
    vi.clearAllTimers();
    vi.setSystemTime(Date.now() + LAPSE_MS + 1);
    expect(await isGiven(budget.take(someone("a"), 6))).toBe(true);
  });

  test("bytes are held as long as their request lasts", async () => {
    const budget = new ByteBudget(ROOM);
    for (const bytes of [10, 6]) await budget.take(someone("a"), bytes);
    await vi.advanceTimersByTimeAsync(10 * LAPSE_MS);
    expect(await isGiven(budget.take(someone("a"), 6))).toBe(false);
  });

  test("bytes are given to owners in turn", async () => {
    const budget = new ByteBudget(ROOM);
    const order: string[] = [];
    const run = async (owner: string, name: string) => {
      const held = someone(owner);
      await budget.take(held, 10);
      order.push(name);
      budget.release(held);
    };
    const first = someone("x");
    await budget.take(first, 10);
    const runs = [run("a", "a1"), run("a", "a2"), run("a", "a3"), run("b", "b1")];
    budget.release(first);
    await vi.runAllTimersAsync();
    await Promise.all(runs);
    expect(order).toEqual(["a1", "b1", "a2", "a3"]);
  });

  test("bytes never exceed the room, and each reader that goes on gets to its end", async () => {
    const body = fc.record({
      owner: fc.constantFrom("a", "b", "c", "d"),
      chunks: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 5 }),
      pause: fc.integer({ min: 0, max: 20 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(body, { maxLength: 20 }), async (bodies) => {
        const budget = new ByteBudget({ ...ROOM, waiting: 20, patience_ms: 1_000_000 });
        const all = bodies.map(({ owner }) => someone(owner));
        const check = () => {
          const held = (some: typeof all) => some.reduce((sum, { bytes }) => sum + bytes, 0);
          expect(held(all)).toBeLessThanOrEqual(ROOM.shared + LARGEST);
          for (const name of ["a", "b", "c", "d"]) {
            const own = held(all.filter(({ owner }) => owner === name));
            expect(own).toBeLessThanOrEqual(ROOM.share + LARGEST);
          }
        };
        const reading = bodies.map(async ({ chunks, pause }, n) => {
          const held = all[n] ?? someone("");
          for (const chunk of chunks) {
            if (held.bytes + chunk > LARGEST) break;
            await budget.take(held, chunk);
            check();
            await new Promise((resolve) => setTimeout(resolve, pause));
          }
          budget.release(held);
        });
        const done = Promise.all(reading);
        await vi.runAllTimersAsync();
        await done;
        expect(vi.getTimerCount()).toBe(0);
      }),
    );
  });
});
