/** The standing of runners that take jobs and do not report on them. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RunnerReliability } from "../../../src/domain/scheduling/runner-reliability.ts";
import { NOW } from "../predictions/samples.ts";

const held = (runnerId: string, token = "t") => ({ runnerId, token });

/** Hands out jobs that the runner does not report on. Returns the time after the last. */
function misses(conduct: RunnerReliability, times: number, from: number, runner = "r"): number {
  let now = from;
  for (let n = 0; n < times; n++) {
    conduct.recordHandout(held(runner), `${runner} ${now}`, now);
    now += 5_000;
    conduct.recordMissed(`${runner} ${now - 5_000}`, now);
  }
  return now;
}

test("a hand-out is unconfirmed until its receipt comes, it is missed or it is forgotten", () => {
  const conduct = new RunnerReliability(5);
  for (const receipt of ["a", "b", "c"]) conduct.recordHandout(held("r"), receipt, NOW);
  expect(conduct.unconfirmed("r", NOW).size).toBe(3);
  expect(conduct.holderOf("a")).toMatchObject(held("r"));
  conduct.recordConnected("r", ["a", "no such"]);
  expect(conduct.unconfirmed("r", NOW).size).toBe(2);
  expect(conduct.recordMissed("b", NOW)).toBe("r");
  expect(conduct.recordMissed("b", NOW)).toBeUndefined();
  expect(conduct.unconfirmed("r", NOW).size).toBe(1);
  expect(conduct.unconfirmed("r", NOW + 15_001).size).toBe(0);
  expect(conduct.holderOf("c")).toBeUndefined();
});

test("a hand-out is not forgotten while its prediction may still wait, however long", () => {
  const conduct = new RunnerReliability(60);
  conduct.recordHandout(held("r"), "a", NOW);
  expect(conduct.unconfirmed("r", NOW + 61_000).size).toBe(1);
  expect(conduct.recordMissed("a", NOW + 61_000)).toBe("r");
});

test("a receipt is worth nothing to another runner", () => {
  const conduct = new RunnerReliability(5);
  conduct.recordHandout(held("r"), "a", NOW);
  conduct.recordConnected("thief", ["a"]);
  expect(conduct.unconfirmed("r", NOW).size).toBe(1);
});

test("a runner that declines all jobs is set aside after six, and one that also works is not", () => {
  const conduct = new RunnerReliability(5);
  const declines = (runner: string, n: number) => {
    const at = NOW + n * 5_000;
    conduct.recordHandout(held(runner), `${runner} ${n}`, at);
    expect(conduct.recordDeclined(`${runner} ${n}`, at)).toBe(runner);
    return conduct.suspendedUntil(runner, at);
  };
  const until = [0, 1, 2, 3, 4, 5].map((n) => declines("hostile", n));
  expect(until).toEqual([null, null, null, null, null, NOW + 35_000]);
  for (let n = 0; n < 20; n++) {
    expect(declines("full", n)).toBeNull();
    conduct.recordHandout(held("full"), "works", NOW);
    conduct.recordConnected("full", ["works"]);
  }
});

describe("a runner that takes and never works", () => {
  test("a runner is set aside after three missed jobs, then after each, for longer each time", () => {
    const conduct = new RunnerReliability(5);
    let now = misses(conduct, 2, NOW);
    expect(conduct.suspendedUntil("r", now)).toBeNull();
    const rests: number[] = [];
    for (let n = 0; n < 9; n++) {
      now = misses(conduct, 1, now);
      const until = conduct.suspendedUntil("r", now) ?? now;
      expect(conduct.suspended(now)).toEqual(new Map([["r", { until, reason: null }]]));
      rests.push((until - now) / 1_000);
      now = until;
      expect(conduct.suspendedUntil("r", now)).toBeNull();
    }
    expect(rests).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600]);
  });

  test("a runner is back in good standing when it works again", () => {
    const conduct = new RunnerReliability(5);
    let now = misses(conduct, 3, NOW);
    now = conduct.suspendedUntil("r", now) ?? now;
    for (let n = 0; n < 6; n++) {
      conduct.recordHandout(held("r"), `${n}`, now);
      conduct.recordConnected("r", [`${n}`]);
    }
    now = misses(conduct, 2, now);
    expect(conduct.suspendedUntil("r", now)).toBeNull();
    now = misses(conduct, 1, now);
    expect((conduct.suspendedUntil("r", now) ?? 0) - now).toBe(10_000);
  });

  test("a runner that an operator resets is no longer set aside, and its open job stays unconfirmed", () => {
    const conduct = new RunnerReliability(5);
    let now = misses(conduct, 3, NOW);
    now = misses(conduct, 1, conduct.suspendedUntil("r", now) ?? now);
    expect(conduct.suspendedUntil("r", now)).not.toBeNull();
    conduct.recordHandout(held("r"), "held", now);
    conduct.reset("r");
    conduct.reset("nobody");
    expect(conduct.suspendedUntil("r", now)).toBeNull();
    expect(conduct.unconfirmed("r", now).size).toBe(1);
    conduct.recordConnected("r", ["held"]);
    now = misses(conduct, 2, now);
    expect(conduct.suspendedUntil("r", now)).toBeNull();
    now = misses(conduct, 1, now);
    expect((conduct.suspendedUntil("r", now) ?? 0) - now).toBe(10_000);
  });

  test("a runner that works on every other job is set aside, too", () => {
    const conduct = new RunnerReliability(5);
    let now = NOW;
    for (let n = 0; n < 5; n++) {
      conduct.recordHandout(held("r"), `${n}`, now);
      conduct.recordConnected("r", [`${n}`]);
      now = misses(conduct, 1, now);
    }
    expect(conduct.suspendedUntil("r", now)).not.toBeNull();
  });
});

test("all jobs that a dying runner had taken count as one", () => {
  const conduct = new RunnerReliability(5);
  const receipts = Array.from({ length: 8 }, (_, n) => `${n}`);
  for (const receipt of receipts) conduct.recordHandout(held("r"), receipt, NOW);
  for (const receipt of receipts) conduct.recordMissed(receipt, NOW + 5_000);
  expect(conduct.suspendedUntil("r", NOW + 5_000)).toBeNull();
});

test("a job that is taken from a runner in favour of another one counts for nothing", () => {
  const conduct = new RunnerReliability(5);
  for (let n = 0; n < 9; n++) {
    conduct.recordHandout(held("r"), `${n}`, NOW + n * 6_000);
    expect(conduct.recordDismissed(`${n}`)).toBe("r");
  }
  expect(conduct.suspendedUntil("r", NOW + 60_000)).toBeNull();
});

test("a runner that reports on all jobs is never set aside, and no job counts twice, in any order", () => {
  const act = fc.record({
    runner: fc.constantFrom("good", "bad"),
    receipt: fc.integer({ min: 0, max: 20 }),
    after: fc.integer({ min: 0, max: 8_000 }),
  });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const conduct = new RunnerReliability(5);
      let now = NOW;
      for (const { runner, receipt, after } of acts) {
        conduct.recordHandout(held(runner), `${runner} ${receipt}`, now);
        now += after;
        if (runner === "good") conduct.recordConnected("good", [`good ${receipt}`]);
        else conduct.recordMissed(`bad ${receipt}`, now);
        if (
          conduct.unconfirmed("good", now).size !== 0 ||
          conduct.unconfirmed("bad", now).size !== 0
        )
          return false;
        if (conduct.suspendedUntil("good", now) !== null) return false;
      }
      return true;
    }),
  );
});

let receipts = 0;

/** Takes all jobs that the runner may have, up to its slots. @returns their receipts */
function fill(
  reliability: RunnerReliability,
  holder: ReturnType<typeof held>,
  slots: number,
): string[] {
  const taken: string[] = [];
  while (taken.length < slots && reliability.allowance(holder, NOW) > 0) {
    receipts += 1;
    taken.push(`${receipts}`);
    reliability.recordHandout(holder, `${receipts}`, NOW);
  }
  return taken;
}

const miss = (reliability: RunnerReliability, missed: string[]) => {
  for (const receipt of missed) reliability.recordMissed(receipt, NOW + 5_000);
};

test("a new runner with 32 slots that reports is full after four rounds", () => {
  const reliability = new RunnerReliability(5);
  const rounds: number[] = [];
  for (let used = 0; used < 32; used += rounds.at(-1) ?? 32) {
    const taken = fill(reliability, held("r"), 32 - used);
    reliability.recordConnected("r", taken);
    rounds.push(taken.length);
  }
  expect(rounds).toEqual([4, 8, 16, 4]);
});

test("a runner that hoards gets four jobs, and one at a time from then on", () => {
  const reliability = new RunnerReliability(5);
  const first = fill(reliability, held("r"), 1_000);
  expect(first).toHaveLength(4);
  miss(reliability, first);
  expect(fill(reliability, held("r"), 1_000)).toHaveLength(1);
});

test("a runner that reports just enough to look alive loses its allowance when it is silent", () => {
  const reliability = new RunnerReliability(5);
  const [one = "", ...rest] = fill(reliability, held("r"), 1_000);
  reliability.recordConnected("r", [one]);
  expect(fill(reliability, held("r"), 1_000)).toHaveLength(2);
  miss(reliability, rest);
  expect(reliability.allowance(held("r"), NOW)).toBe(0);
});

test("new runners of one token get eight jobs together, four after a silence, and other tokens get no less", () => {
  const reliability = new RunnerReliability(5);
  const names = Array.from({ length: 40 }, (_, n) => `name ${n}`);
  const first = names.flatMap((name) => fill(reliability, held(name), 1_000));
  expect(first).toHaveLength(8);
  miss(reliability, first);
  const later = names.map((name) => `later ${name}`);
  expect(later.flatMap((name) => fill(reliability, held(name), 1_000))).toHaveLength(4);
  expect(fill(reliability, held("r", "other"), 32)).toHaveLength(4);
});

test("a runner that has reported is not held up by silent ones with its token", () => {
  const reliability = new RunnerReliability(5);
  const taken = fill(reliability, held("good"), 32);
  reliability.recordConnected("good", taken);
  for (const name of ["a", "b", "c", "d"]) fill(reliability, held(name), 1_000);
  expect(reliability.allowance(held("good"), NOW)).toBe(8);
});

test("a job that was never sent to its runner counts neither as unreported nor as silence", () => {
  const reliability = new RunnerReliability(5);
  for (const receipt of fill(reliability, held("r"), 32)) reliability.recordUnsent(receipt);
  expect(reliability.allowance(held("r"), NOW)).toBe(4);
});
