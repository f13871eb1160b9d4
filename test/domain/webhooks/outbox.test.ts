import { describe, expect, it } from "vitest";
import { Outbox } from "../../../src/domain/webhooks/outbox.ts";
import {
  all,
  delivered,
  happening,
  names,
  outputOnly,
  own,
  refused,
  rules,
  settle,
  states,
} from "./outbox-samples.ts";

describe("an outbox", () => {
  it("an outbox delivers each event to each destination that wants it", () => {
    const outbox = new Outbox([own, all, outputOnly]);
    outbox.plan(happening("started", 2, 1_000));
    expect(outbox.dueAt()).toBe(1_000);
    const begun = outbox.begin(1_000, rules);
    expect(names(begun)).toEqual([
      ["started", null],
      ["started", "all"],
    ]);
    for (const one of begun) expect(settle(outbox, one, delivered, 1_080)).toBe("delivered");
    expect(outbox.pending).toBe(false);
    expect(outbox.dueAt()).toBe(Number.POSITIVE_INFINITY);
    expect(outbox.events[0]?.deliveries[0]?.attempts).toEqual([
      { at: 1_000, duration_ms: 80, status: 200, error: null, response: null },
    ]);
  });

  it("an outbox sends `started` only once, whichever attempt has started", () => {
    const outbox = new Outbox([own]);
    outbox.plan(happening("started", 2, 1_000));
    outbox.plan(happening("started", 5, 9_000));
    expect(outbox.events).toHaveLength(1);
  });

  it("an outbox has one try under way at each destination, and keeps the order", () => {
    const outbox = new Outbox([own, all]);
    outbox.plan(happening("started", 2, 1_000));
    const [first, other] = outbox.begin(1_000, rules);
    outbox.planEnd(happening("completed", 9, 1_500));
    expect(outbox.begin(1_500, rules)).toEqual([]);
    // The two tries under way guard the queue: no other event is due before one has ended.
    expect(outbox.dueAt()).toBe(16_000);
    settle(outbox, other, delivered, 1_600);
    expect(names(outbox.begin(1_600, rules))).toEqual([["completed", "all"]]);
    settle(outbox, first, delivered, 2_000);
    expect(names(outbox.begin(2_000, rules))).toEqual([["completed", null]]);
  });

  it("an outbox delays a throttled delivery as if it had not been tried", () => {
    const outbox = new Outbox([own]);
    outbox.plan(happening("started", 2, 1_000));
    for (let now = 1_000; now < 1_000_000; now += 15_000) {
      const [begun] = outbox.begin(now, rules);
      const throttled = { status: null, error: "throttled", throttledMs: 10_000 };
      expect(settle(outbox, begun, throttled, now)).toBe("pending");
      expect(outbox.dueAt()).toBe(now + 15_000);
    }
    expect(outbox.events[0]?.deliveries[0]).toMatchObject({ attempts: [], failures: 0, losses: 0 });
  });

  it("an outbox tries a failed delivery again, and no other delivery waits for it", () => {
    const outbox = new Outbox([own]);
    outbox.plan(happening("started", 2, 1_000));
    const [started] = outbox.begin(1_000, rules);
    settle(outbox, started, refused(500), 1_100);
    expect(outbox.dueAt()).toBe(6_100);
    outbox.planEnd(happening("completed", 9, 2_000));
    const [completed] = outbox.begin(2_000, rules);
    expect(names(completed ? [completed] : [])).toEqual([["completed", null]]);
    settle(outbox, completed, delivered, 2_100);
    expect(names(outbox.begin(6_100, rules))).toEqual([["started", null]]);
  });

  it("an outbox keeps the answers to the last three tries, until it forgets them", () => {
    const outbox = new Outbox([own]);
    outbox.plan(happening("started", 2, 1_000));
    for (const response of ["a", "b", "c", "d"]) {
      const now = outbox.dueAt();
      const [begun] = outbox.begin(now, rules);
      settle(outbox, begun, { ...refused(500), response }, now);
    }
    const responses = () =>
      outbox.events[0]?.deliveries[0]?.attempts.map(({ response }) => response);
    expect(responses()).toEqual([null, "b", "c", "d"]);
    outbox.takeChanges();
    outbox.forgetResponses();
    expect(responses()).toEqual([null, null, null, null]);
    expect(outbox.takeChanges().changed).toHaveLength(1);
    outbox.forgetResponses();
    expect(outbox.takeChanges().changed).toEqual([]);
  });

  it("an outbox gives up after 12 tries, and says so once", () => {
    const outbox = new Outbox([own]);
    outbox.planEnd(happening("completed", 2, 0));
    const ends: string[] = [];
    while (outbox.pending) {
      const now = outbox.dueAt();
      const [begun] = outbox.begin(now, rules);
      ends.push(settle(outbox, begun, refused(503), now + 10));
    }
    expect(ends).toEqual([...Array(11).fill("pending"), "failed"]);
    expect(states(outbox)).toEqual([[2, null, "failed"]]);
  });

  it("an outbox waits for as long as the receiver asks", () => {
    const outbox = new Outbox([own]);
    outbox.planEnd(happening("completed", 2, 0));
    const [begun] = outbox.begin(0, rules);
    settle(outbox, begun, { ...refused(429), retryAfterMs: 90_000 }, 100);
    expect(outbox.dueAt()).toBe(90_100);
  });

  it("an outbox stops all deliveries to its own webhook when that is gone, and no others", () => {
    const telltale = { endpoint_id: null, events: all.events };
    const outbox = new Outbox([telltale, all]);
    outbox.plan(happening("started", 2, 0));
    const [toOwn, toAll] = outbox.begin(0, rules);
    outbox.plan(happening("output", 4, 10, 1));
    settle(outbox, toAll, delivered, 20);
    outbox.takeChanges();
    expect(settle(outbox, toOwn, { ...refused(410), final: true }, 30)).toBe("failed");
    expect(outbox.takeChanges().changed.map(({ sequence }) => sequence)).toEqual([2, 4]);
    expect(states(outbox)).toEqual([
      [2, null, "failed"],
      [2, "all", "delivered"],
      [4, null, "failed"],
      [4, "all", "pending"],
    ]);
    outbox.planEnd(happening("completed", 9, 40, 3));
    // Event 9 stays in the outbox, to be delivered by hand.
    expect(states(outbox).slice(4)).toEqual([
      [9, null, "failed"],
      [9, "all", "pending"],
    ]);
    expect(new Outbox([telltale], [...outbox.events]).outputAt(5)).toBe(Number.POSITIVE_INFINITY);
    outbox.redeliver(9, 50, null);
    expect(names(outbox.begin(50, rules))).toEqual([
      ["completed", null],
      ["completed", "all"],
    ]);
  });

  it("an outbox goes on planning for an endpoint that is gone, because it may be switched on again", () => {
    const outbox = new Outbox([all]);
    outbox.plan(happening("started", 2, 0));
    const [begun] = outbox.begin(0, rules);
    settle(outbox, begun, { ...refused(410), final: true }, 30);
    outbox.planEnd(happening("completed", 9, 40));
    expect(states(outbox)).toEqual([
      [2, "all", "failed"],
      [9, "all", "pending"],
    ]);
  });

  it("an outbox begins a lost try again, and ignores a late outcome of it", () => {
    const outbox = new Outbox([own]);
    outbox.planEnd(happening("completed", 2, 0));
    const [lost] = outbox.begin(0, rules);
    expect(outbox.begin(14_999, rules)).toEqual([]);
    const [second] = outbox.begin(15_000, rules);
    expect(settle(outbox, lost, refused(410), 15_100)).toBe("late");
    expect(states(outbox)).toEqual([[2, null, "pending"]]);
    settle(outbox, second, delivered, 15_200);
    const [first, last] = outbox.events[0]?.deliveries[0]?.attempts ?? [];
    expect(first).toMatchObject({ at: 0, status: null, error: expect.stringMatching(/restarted/) });
    expect(last).toMatchObject({ at: 15_000, status: 200, error: null });
  });

  it("an outbox counts only failed tries, not lost ones", () => {
    const outbox = new Outbox([own]);
    outbox.planEnd(happening("completed", 2, 0));
    let now = 0;
    for (let lost = 0; lost < 5; lost++) {
      outbox.begin(now, rules);
      now = outbox.dueAt();
    }
    const [begun] = outbox.begin(now, rules);
    settle(outbox, begun, refused(503), now + 10);
    expect(outbox.dueAt() - now).toBe(5_010);
  });

  it("an outbox waits longer for each try that is lost, up to a limit", () => {
    const outbox = new Outbox([own]);
    outbox.planEnd(happening("completed", 2, 0));
    const waits: number[] = [];
    for (let now = 0; outbox.pending; now = Math.min(outbox.dueAt(), Number.MAX_SAFE_INTEGER)) {
      const before = now;
      outbox.begin(now, rules);
      if (outbox.pending) waits.push((outbox.dueAt() - before) / 1_000);
    }
    expect(waits).toEqual([15, 30, 120, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800]);
    expect(states(outbox)).toEqual([[2, null, "failed"]]);
    expect(outbox.events[0]?.deliveries[0]?.attempts.every(({ error }) => error)).toBe(true);
  });

  it("an outbox goes on from its written state", () => {
    const before = new Outbox([own]);
    before.plan(happening("started", 2, 0));
    before.begin(0, rules);
    const { changed } = before.takeChanges();
    const after = new Outbox([own], JSON.parse(JSON.stringify(changed)));
    expect(after.dueAt()).toBe(15_000);
    const [again] = after.begin(15_000, rules);
    settle(after, again, delivered, 15_010);
    expect(after.pending).toBe(false);
  });

  it("an outbox returns its changes once", () => {
    const outbox = new Outbox([own]);
    outbox.plan(happening("started", 2, 0));
    expect(outbox.takeChanges().changed.map(({ sequence }) => sequence)).toEqual([2]);
    expect(outbox.takeChanges()).toEqual({ changed: [], dropped: [] });
    const [begun] = outbox.begin(0, rules);
    expect(outbox.takeChanges().changed).toHaveLength(1);
    settle(outbox, begun, delivered, 5);
    expect(outbox.takeChanges().changed).toHaveLength(1);
  });
});

describe("redelivering", () => {
  const done = (status: number) => {
    const outbox = new Outbox([own, all]);
    outbox.planEnd(happening("completed", 9, 0));
    for (const begun of outbox.begin(0, rules)) {
      settle(outbox, begun, status === 200 ? delivered : { ...refused(status), final: true }, 10);
    }
    return outbox;
  };

  it("redelivering sends an event once more to all receivers, or to one", () => {
    const outbox = done(200);
    expect(outbox.redeliver(9, 1_000)?.sequence).toBe(9);
    expect(names(outbox.begin(1_000, rules))).toEqual([
      ["completed", null],
      ["completed", "all"],
    ]);
    const other = done(200);
    other.redeliver(9, 1_000, null);
    expect(names(other.begin(1_000, rules))).toEqual([["completed", null]]);
  });

  it("redelivering allows all tries again, also where a delivery was given up", () => {
    const outbox = done(410);
    expect(outbox.pending).toBe(false);
    outbox.redeliver(9, 1_000, "all");
    const [begun] = outbox.begin(1_000, rules);
    settle(outbox, begun, refused(500), 1_010);
    expect(outbox.dueAt()).toBe(6_010);
    expect(begun?.delivery.attempts.map(({ status }) => status)).toEqual([410, 500]);
  });

  it("a redelivered output is not superseded by a later one", () => {
    const outbox = new Outbox([all]);
    outbox.plan(happening("output", 3, 0, 1));
    const [first] = outbox.begin(0, rules);
    settle(outbox, first, delivered, 10);
    outbox.redeliver(3, 400);
    outbox.plan(happening("output", 5, 500, 2));
    expect(states(outbox)).toEqual([
      [3, "all", "pending"],
      [5, "all", "pending"],
    ]);
    const [again] = outbox.begin(500, rules);
    expect(again?.event.sequence).toBe(3);
    expect(settle(outbox, again, refused(500), 510)).toBe("pending");
  });

  it("redelivering knows no other events and no other receivers", () => {
    expect(done(200).redeliver(8, 0)).toBeUndefined();
    expect(done(200).redeliver(9, 0, "nobody")).toBeUndefined();
  });

  it("redelivering leaves a delivery alone that is under way", () => {
    const outbox = new Outbox([own]);
    outbox.planEnd(happening("completed", 9, 0));
    const [begun] = outbox.begin(0, rules);
    outbox.redeliver(9, 100);
    expect(outbox.begin(100, rules)).toEqual([]);
    settle(outbox, begun, delivered, 200);
    expect(states(outbox)).toEqual([[9, null, "delivered"]]);
  });

  it("redelivering keeps the last 50 tries", () => {
    const outbox = done(200);
    for (let n = 1; n <= 60; n++) {
      outbox.redeliver(9, n * 100, null);
      for (const begun of outbox.begin(n * 100, rules))
        settle(outbox, begun, delivered, n * 100 + 1);
    }
    const attempts = outbox.events[0]?.deliveries[0]?.attempts ?? [];
    expect([attempts.length, attempts[0]?.at, attempts.at(-1)?.at]).toEqual([50, 1_100, 6_000]);
  });
});
