import { expect, test } from "vitest";
import { FailedStarts } from "../../../src/domain/scheduling/failed-starts.ts";
import { NOW } from "../predictions/samples.ts";

const REASON = "the disk of the runner's machine is full";

const failing = (publisher = "ada", container = "c1") => ({ publisher, container, reason: REASON });

test("a runner is set aside after three failed starts in a row, then after each, for longer each time", () => {
  const starts = new FailedStarts();
  for (let n = 0; n < 2; n++) starts.record("r", failing(), NOW);
  expect(starts.suspendedUntil("r", NOW)).toBeNull();
  let now = NOW;
  const rests: number[] = [];
  for (let n = 0; n < 9; n++) {
    starts.record("r", failing(), now);
    const until = starts.suspendedUntil("r", now) ?? now;
    expect(starts.suspended(now)).toEqual(new Map([["r", { until, reason: REASON }]]));
    rests.push((until - now) / 1_000);
    now = until;
    expect(starts.suspendedUntil("r", now)).toBeNull();
  }
  expect(rests).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600]);
  expect(starts.of("r")).toEqual({ times: 11, reason: REASON, at: now - 600_000 });
});

test("starts that fail while a runner is set aside keep it aside no longer", () => {
  const starts = new FailedStarts();
  for (let n = 0; n < 10; n++) starts.record("r", failing(), NOW);
  expect(starts.suspendedUntil("r", NOW)).toBe(NOW + 10_000);
});

test("a start that succeeds begins the count of its runner again", () => {
  const starts = new FailedStarts();
  for (let n = 0; n < 9; n++) {
    if (n % 3 === 2) starts.succeeded("r", "ada", "c1");
    else starts.record("r", failing(), NOW);
  }
  expect(starts.suspendedUntil("r", NOW)).toBeNull();
  expect(starts.of("r")).toBeUndefined();
});

test("an operator who resumes a runner ends what is counted against it", () => {
  const starts = new FailedStarts();
  for (let n = 0; n < 3; n++) starts.record("r", failing(), NOW);
  starts.reset("r");
  expect(starts.suspendedUntil("r", NOW)).toBeNull();
});

test("a publisher whose versions fail on every machine sets one runner aside at most", () => {
  const starts = new FailedStarts();
  for (const runner of ["a", "b", "c"])
    for (let n = 0; n < 10; n++) starts.record(runner, failing("mallory"), NOW);
  expect([...starts.suspended(NOW).keys()]).toEqual(["a"]);
  expect(starts.of("c")).toMatchObject({ times: 10 });
});

test("a version that starts does not let another one of its publisher set runners aside in turn", () => {
  const starts = new FailedStarts();
  for (const runner of ["a", "b", "c"]) {
    for (let n = 0; n < 3; n++) starts.record(runner, failing("mallory", `bad ${n}`), NOW);
    starts.succeeded("z", "mallory", "good");
  }
  expect([...starts.suspended(NOW).keys()]).toEqual(["a"]);
});

test("two broken machines are both set aside if the same versions start on a third", () => {
  const starts = new FailedStarts();
  for (let n = 0; n < 6; n++) {
    const order = n % 2 === 0 ? ["a", "b"] : ["b", "a"];
    for (const runner of order) starts.record(runner, failing(), NOW);
    starts.succeeded("c", "ada", "c1");
  }
  expect([...starts.suspended(NOW).keys()].toSorted()).toEqual(["a", "b"]);
});
