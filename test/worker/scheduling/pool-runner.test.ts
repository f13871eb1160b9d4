/** A runner in its pool, which turns reported durations into times. */
import { expect, test } from "vitest";
import { PoolRunner } from "../../../src/objects/pool/pool-runner.ts";
import { readyContainer, runnerSnapshot } from "../../protocol/runner-snapshot.ts";

const NOW = 1_795_700_000_000;
const telling = (number: number, phase_ms: number) => {
  const busy = readyContainer({ phase_ms, idle_ms: null, users: 1, runs_ms: [phase_ms] });
  const snapshot = runnerSnapshot({ number, containers: [busy] });
  return { runner_id: "r", session: "s", pool: "cpu", token_id: "t", snapshot };
};
const timesOf = (runner: PoolRunner) => {
  const [container] = runner.view(0).containers;
  return [container?.since, ...(container?.runs ?? [])];
};

test("a run's begin stays the same without reports and after late ones", () => {
  const runner = new PoolRunner(telling(2, 3_000), NOW);
  expect(timesOf(runner)).toEqual([NOW - 3_000, NOW - 3_000]);
  runner.takeReport(telling(1, 0), NOW + 10_000);
  expect(timesOf(runner)).toEqual([NOW - 3_000, NOW - 3_000]);
  runner.takeReport(telling(3, 13_000), NOW + 10_000);
  expect(timesOf(runner)).toEqual([NOW - 3_000, NOW - 3_000]);
});

test("a restored runner's runs have the times of its last report", () => {
  const runner = new PoolRunner(telling(1, 5_000), NOW);
  runner.know({ session: "s", name: "box", hardware: ["cpu"], slots: 1, draining: false });
  const { stored } = runner;
  if (!stored) throw new Error("nothing to store");
  expect(timesOf(PoolRunner.restore(stored))).toEqual([NOW - 5_000, NOW - 5_000]);
});
