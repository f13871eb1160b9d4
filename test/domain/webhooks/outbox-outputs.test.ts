import { describe, expect, it } from "vitest";
import { Outbox } from "../../../src/domain/webhooks/outbox.ts";
import {
  all,
  delivered,
  happening,
  outputOnly,
  own,
  refused,
  rules,
  settle,
  states,
} from "./outbox-samples.ts";

describe("outputs", () => {
  it("outputs are sent every 500 ms, when there are more", () => {
    const outbox = new Outbox([all]);
    expect(outbox.outputAt(0)).toBe(Number.POSITIVE_INFINITY);
    expect(outbox.outputAt(1)).toBe(0);
    outbox.plan(happening("output", 3, 1_000, 1));
    expect(outbox.outputAt(1)).toBe(Number.POSITIVE_INFINITY);
    expect(outbox.outputAt(7)).toBe(1_500);
    expect(new Outbox([own]).outputAt(7)).toBe(Number.POSITIVE_INFINITY);
  });

  it("outputs that wait are superseded by later ones and by the end", () => {
    const outbox = new Outbox([all]);
    outbox.plan(happening("output", 3, 0, 1));
    const [first] = outbox.begin(0, rules);
    outbox.plan(happening("output", 5, 500, 2));
    outbox.plan(happening("output", 7, 1_000, 3));
    expect(states(outbox).map(([, , state]) => state)).toEqual([
      "pending",
      "superseded",
      "pending",
    ]);
    // The first try was under way when it was overtaken: it is not tried again, and its destination has not
    // failed.
    expect(settle(outbox, first, refused(500), 1_100)).toBe("superseded");
    outbox.planEnd(happening("completed", 9, 1_200, 3));
    expect(states(outbox).map(([, , state]) => state)).toEqual([
      "superseded",
      "superseded",
      "superseded",
      "pending",
    ]);
  });

  it("outputs wait for as long as the one before would have, and the end does not", () => {
    const outbox = new Outbox([all]);
    outbox.plan(happening("output", 3, 0, 1));
    const [first] = outbox.begin(0, rules);
    settle(outbox, first, { ...refused(429), retryAfterMs: 60_000 }, 100);
    for (const [n, at] of [
      [2, 500],
      [3, 1_000],
    ] as const) {
      outbox.plan(happening("output", 3 + n, at, n));
      expect(outbox.dueAt()).toBe(60_100);
    }
    const [second] = outbox.begin(60_100, rules);
    expect(second?.event.outputs).toBe(3);
    settle(outbox, second, refused(500), 60_200);
    // Two tries in a row have failed, of either output.
    expect(outbox.dueAt()).toBe(90_200);
    outbox.planEnd(happening("completed", 9, 61_000, 4));
    expect(outbox.dueAt()).toBe(61_000);
  });

  it("outputs that were overtaken during their try hand on its failure", () => {
    const outbox = new Outbox([all]);
    outbox.plan(happening("output", 3, 0, 1));
    const [first] = outbox.begin(0, rules);
    outbox.plan(happening("output", 5, 500, 2));
    expect(settle(outbox, first, refused(500), 600)).toBe("superseded");
    expect(outbox.dueAt()).toBe(5_600);
  });

  it("outputs are no longer sent to a receiver for which they were given up", () => {
    const outbox = new Outbox([all]);
    outbox.plan(happening("output", 3, 0, 1));
    const [first] = outbox.begin(0, rules);
    expect(settle(outbox, first, { status: null, error: "deleted", final: true }, 10)).toBe(
      "failed",
    );
    expect(outbox.outputAt(7)).toBe(Number.POSITIVE_INFINITY);
    outbox.planEnd(happening("completed", 9, 600, 7));
    expect(states(outbox)).toEqual([
      [3, "all", "failed"],
      [9, "all", "pending"],
    ]);
  });

  it("outputs are not superseded by `started`, nor by events for other receivers", () => {
    const outbox = new Outbox([all, own]);
    outbox.plan(happening("output", 1, 0, 1));
    outbox.plan(happening("started", 2, 0));
    outbox.planEnd(happening("completed", 9, 0, 1));
    const only = new Outbox([outputOnly, own]);
    only.plan(happening("output", 3, 0, 1));
    only.planEnd(happening("completed", 9, 0, 1));
    expect(states(only)[0]).toEqual([3, "output-only", "pending"]);
    const early = new Outbox([all]);
    early.plan(happening("output", 1, 0, 1));
    early.plan(happening("started", 2, 0));
    expect(states(early)[0]).toEqual([1, "all", "pending"]);
  });

  it("outputs that were not delivered are not dropped, however many come after them", () => {
    const outbox = new Outbox([all, outputOnly]);
    outbox.plan(happening("output", 2, 0, 1));
    const [, toOnly] = outbox.begin(0, rules);
    for (let n = 3; n < 200; n++) outbox.plan(happening("output", n, n * 500, n));
    expect(outbox.events[0]?.sequence).toBe(2);
    expect(settle(outbox, toOnly, delivered, 100_000)).toBe("delivered");
    expect(outbox.takeChanges().dropped).not.toContain(2);
    expect(outbox.takeChanges()).toEqual({ changed: [], dropped: [] });
  });

  it("the last outputs are sent to receivers that are not sent the end", () => {
    const outbox = new Outbox([all, outputOnly]);
    outbox.plan(happening("output", 3, 0, 1));
    outbox.planEnd(happening("completed", 9, 600, 4));
    expect(outbox.events.map(({ event, sequence, outputs }) => [event, sequence, outputs])).toEqual(
      [
        ["output", 3, 1],
        ["output", 8, 4],
        ["completed", 9, 4],
      ],
    );
    expect(states(outbox)).toEqual([
      [3, "all", "superseded"],
      [3, "output-only", "superseded"],
      [8, "output-only", "pending"],
      [9, "all", "pending"],
    ]);
  });

  it("outputs are not sent again when the end brings no more of them", () => {
    const outbox = new Outbox([outputOnly]);
    outbox.plan(happening("output", 3, 0, 4));
    outbox.planEnd(happening("completed", 9, 600, 4));
    expect(outbox.events).toHaveLength(1);
  });

  it("at most a hundred outputs are kept", () => {
    const outbox = new Outbox([all]);
    outbox.plan(happening("started", 1, 0));
    for (let n = 2; n < 300; n++) outbox.plan(happening("output", n, n * 500, n));
    const { changed, dropped } = outbox.takeChanges();
    expect(outbox.events).toHaveLength(101);
    expect(outbox.events[0]?.event).toBe("started");
    expect(dropped).toHaveLength(198);
    expect(changed.map(({ sequence }) => sequence)).toEqual(
      outbox.events.map(({ sequence }) => sequence),
    );
  });
});
