/** The predictions of a runner that its pool knows. */
import { expect, test } from "vitest";
import { RunnerWork } from "../../../src/objects/pool/runner-work.ts";

const handed = (number: number, user_id = "ada") => ({
  number,
  job: { user_id, model: "ada/story:1" },
  offered: { job: { prediction_id: `run-${number}` } },
});

test("a prediction is forgotten once the runner's report lacks it, and not before the first report", () => {
  const work = new RunnerWork();
  for (const number of [1, 2, 3]) work.add(handed(number), number);
  work.reported({ handed: 2, jobs: [2] });
  expect(work.of([1, 2, 3])).toMatchObject([{ number: 2 }, { prediction_id: "run-3", at: 3 }]);
  work.reported({ handed: 3, jobs: [] });
  expect(work.stored).toEqual([]);
});

test("the predictions of runners survive the end of their pool", () => {
  const work = new RunnerWork();
  work.add(handed(7, "bob"), 5);
  expect(new RunnerWork(work.stored).of([7])).toEqual([
    { number: 7, prediction_id: "run-7", user_id: "bob", model: "ada/story:1", at: 5 },
  ]);
});

test("the work of a runner that reports nothing is limited to what it can have", () => {
  const work = new RunnerWork();
  for (let number = 1; number <= 2_100; number++) work.add(handed(number), number);
  expect(work.of([100])).toEqual([]);
  expect(work.of([101, 2_100])).toHaveLength(2);
  expect(work.stored).toHaveLength(200);
});
