/** The number of jobs that runners are handed before they have reported. */
import { expect, test } from "vitest";
import { RunnerStanding } from "../../../src/domain/scheduling/runner-standing.ts";
import { NOW } from "../predictions/samples.ts";

const held = (runnerId: string, token = "t") => ({ runnerId, token });

let receipts = 0;

/**
 * Takes all jobs that the runner may have, up to its slots.
 * @returns their receipts
 */
function fill(standing: RunnerStanding, holder: ReturnType<typeof held>, slots: number): string[] {
  const taken: string[] = [];
  while (taken.length < slots && standing.allowance(holder, NOW) > 0) {
    receipts += 1;
    taken.push(`${receipts}`);
    standing.recordHandout(holder, `${receipts}`, NOW);
  }
  return taken;
}

const miss = (standing: RunnerStanding, missed: string[]) => {
  for (const receipt of missed) standing.recordMissed(receipt, NOW + 5_000);
};

test("a new runner with 32 slots that reports is full after four rounds", () => {
  const standing = new RunnerStanding(5);
  const rounds: number[] = [];
  for (let used = 0; used < 32; used += rounds.at(-1) ?? 32) {
    const taken = fill(standing, held("r"), 32 - used);
    standing.recordConnected("r", taken);
    rounds.push(taken.length);
  }
  expect(rounds).toEqual([4, 8, 16, 4]);
});

test("a runner that hoards gets four jobs, and one at a time from then on", () => {
  const standing = new RunnerStanding(5);
  const first = fill(standing, held("r"), 1_000);
  expect(first).toHaveLength(4);
  miss(standing, first);
  expect(fill(standing, held("r"), 1_000)).toHaveLength(1);
});

test("a runner that reports just enough to look alive loses its allowance when it is silent", () => {
  const standing = new RunnerStanding(5);
  const [one = "", ...rest] = fill(standing, held("r"), 1_000);
  standing.recordConnected("r", [one]);
  expect(fill(standing, held("r"), 1_000)).toHaveLength(2);
  miss(standing, rest);
  expect(standing.allowance(held("r"), NOW)).toBe(0);
});

test("new runners of one token get eight jobs together, four after a silence, and other tokens get no less", () => {
  const standing = new RunnerStanding(5);
  const names = Array.from({ length: 40 }, (_, n) => `name ${n}`);
  const first = names.flatMap((name) => fill(standing, held(name), 1_000));
  expect(first).toHaveLength(8);
  miss(standing, first);
  const later = names.map((name) => `later ${name}`);
  expect(later.flatMap((name) => fill(standing, held(name), 1_000))).toHaveLength(4);
  expect(fill(standing, held("r", "other"), 32)).toHaveLength(4);
});

test("a runner that has reported is not held up by silent ones with its token", () => {
  const standing = new RunnerStanding(5);
  const taken = fill(standing, held("good"), 32);
  standing.recordConnected("good", taken);
  for (const name of ["a", "b", "c", "d"]) fill(standing, held(name), 1_000);
  expect(standing.allowance(held("good"), NOW)).toBe(8);
});

test("a job that was never sent to its runner counts neither as unreported nor as silence", () => {
  const standing = new RunnerStanding(5);
  for (const receipt of fill(standing, held("r"), 32)) standing.recordUnsent(receipt);
  expect(standing.allowance(held("r"), NOW)).toBe(4);
});
