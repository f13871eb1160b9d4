/** Who takes jobs and is not heard of them. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RunnerStanding } from "../../../src/domain/scheduling/runner-standing.ts";
import { NOW } from "../predictions/samples.ts";

/** Takes one and is not heard of it, time after time. */
function misses(conduct: RunnerStanding, times: number, from: number, runner = "r"): number {
  let now = from;
  for (let n = 0; n < times; n++) {
    conduct.handed(runner, `${runner} ${now}`, now);
    now += 5_000;
    conduct.missed(`${runner} ${now - 5_000}`, now);
  }
  return now;
}

test("what was handed out is unheard until its receipt comes, is missed, or is forgotten", () => {
  const conduct = new RunnerStanding(5);
  for (const receipt of ["a", "b", "c"]) conduct.handed("r", receipt, NOW);
  expect(conduct.unheard("r", NOW)).toBe(3);
  expect(conduct.holder("a")).toBe("r");
  conduct.heard("r", ["a", "no such"]);
  expect(conduct.unheard("r", NOW)).toBe(2);
  expect(conduct.missed("b", NOW)).toBe("r");
  expect(conduct.missed("b", NOW)).toBeUndefined();
  expect(conduct.unheard("r", NOW)).toBe(1);
  expect(conduct.unheard("r", NOW + 15_001)).toBe(0);
  expect(conduct.holder("c")).toBeUndefined();
});

test("nothing is forgotten while its prediction may still wait, however patient that is", () => {
  const conduct = new RunnerStanding(60);
  conduct.handed("r", "a", NOW);
  expect(conduct.unheard("r", NOW + 61_000)).toBe(1);
  expect(conduct.missed("a", NOW + 61_000)).toBe("r");
});

test("a receipt is worth nothing to another runner", () => {
  const conduct = new RunnerStanding(5);
  conduct.handed("r", "a", NOW);
  conduct.heard("thief", ["a"]);
  expect(conduct.unheard("r", NOW)).toBe(1);
});

describe("a runner that takes and never works", () => {
  test("is set aside after three, then after each, for longer each time", () => {
    const conduct = new RunnerStanding(5);
    let now = misses(conduct, 2, NOW);
    expect(conduct.asideUntil("r", now)).toBeNull();
    const rests: number[] = [];
    for (let n = 0; n < 9; n++) {
      now = misses(conduct, 1, now);
      const until = conduct.asideUntil("r", now) ?? now;
      expect(conduct.aside(now)).toEqual(new Map([["r", until]]));
      rests.push((until - now) / 1_000);
      now = until;
      expect(conduct.asideUntil("r", now)).toBeNull();
    }
    expect(rests).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600]);
  });

  test("is back in good standing when it works again", () => {
    const conduct = new RunnerStanding(5);
    let now = misses(conduct, 3, NOW);
    now = conduct.asideUntil("r", now) ?? now;
    for (let n = 0; n < 6; n++) {
      conduct.handed("r", `${n}`, now);
      conduct.heard("r", [`${n}`]);
    }
    now = misses(conduct, 2, now);
    expect(conduct.asideUntil("r", now)).toBeNull();
    now = misses(conduct, 1, now);
    expect((conduct.asideUntil("r", now) ?? 0) - now).toBe(10_000);
  });

  test("is pardoned by an operator: as if it had never been, and what it has is unheard still", () => {
    const conduct = new RunnerStanding(5);
    let now = misses(conduct, 3, NOW);
    now = misses(conduct, 1, conduct.asideUntil("r", now) ?? now);
    expect(conduct.asideUntil("r", now)).not.toBeNull();
    conduct.handed("r", "held", now);
    conduct.pardon("r");
    conduct.pardon("nobody");
    expect(conduct.asideUntil("r", now)).toBeNull();
    expect(conduct.unheard("r", now)).toBe(1);
    conduct.heard("r", ["held"]);
    now = misses(conduct, 2, now);
    expect(conduct.asideUntil("r", now)).toBeNull();
    now = misses(conduct, 1, now);
    expect((conduct.asideUntil("r", now) ?? 0) - now).toBe(10_000);
  });

  test("does not get away with working on every other one", () => {
    const conduct = new RunnerStanding(5);
    let now = NOW;
    for (let n = 0; n < 5; n++) {
      conduct.handed("r", `${n}`, now);
      conduct.heard("r", [`${n}`]);
      now = misses(conduct, 1, now);
    }
    expect(conduct.asideUntil("r", now)).not.toBeNull();
  });
});

test("all that a dying runner had taken count as one", () => {
  const conduct = new RunnerStanding(5);
  const receipts = Array.from({ length: 8 }, (_, n) => `${n}`);
  for (const receipt of receipts) conduct.handed("r", receipt, NOW);
  for (const receipt of receipts) conduct.missed(receipt, NOW + 5_000);
  expect(conduct.asideUntil("r", NOW + 5_000)).toBeNull();
});

test("what was taken from it in favour of another counts for nothing", () => {
  const conduct = new RunnerStanding(5);
  for (let n = 0; n < 9; n++) {
    conduct.handed("r", `${n}`, NOW + n * 6_000);
    expect(conduct.excused(`${n}`)).toBe("r");
  }
  expect(conduct.asideUntil("r", NOW + 60_000)).toBeNull();
});

test("in every order: who is heard of all is never set aside, and nothing is counted twice", () => {
  const act = fc.record({
    runner: fc.constantFrom("good", "bad"),
    receipt: fc.integer({ min: 0, max: 20 }),
    after: fc.integer({ min: 0, max: 8_000 }),
  });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const conduct = new RunnerStanding(5);
      let now = NOW;
      for (const { runner, receipt, after } of acts) {
        conduct.handed(runner, `${runner} ${receipt}`, now);
        now += after;
        if (runner === "good") conduct.heard("good", [`good ${receipt}`]);
        else conduct.missed(`bad ${receipt}`, now);
        if (conduct.unheard("good", now) !== 0 || conduct.unheard("bad", now) !== 0) return false;
        if (conduct.asideUntil("good", now) !== null) return false;
      }
      return true;
    }),
  );
});
