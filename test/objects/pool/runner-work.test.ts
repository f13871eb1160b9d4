/** What a pool knows of the predictions that a runner has. */
import { expect, test } from "vitest";
import { RunnerWork } from "../../../src/objects/pool/runner-work.ts";

const handed = (number: number, user_id = "ada") => ({
  number,
  job: { user_id, model: "ada/story:1" },
  offered: { job: { prediction_id: `run-${number}` } },
});

test("it is forgotten once the runner has it no more, not before it has been told", () => {
  const work = new RunnerWork();
  for (const number of [1, 2, 3]) work.add(handed(number), number);
  work.reported({ handed: 2, jobs: [2] });
  expect(work.of([1, 2, 3])).toMatchObject([{ number: 2 }, { prediction_id: "run-3", at: 3 }]);
  work.reported({ handed: 3, jobs: [] });
  expect(work.stored).toEqual([]);
});

test("it survives the end of its pool", () => {
  const work = new RunnerWork();
  work.add(handed(7, "bob"), 5);
  expect(new RunnerWork(work.stored).of([7])).toEqual([
    { number: 7, prediction_id: "run-7", user_id: "bob", model: "ada/story:1", at: 5 },
  ]);
});

test("of a runner that tells nothing no more is kept than it can have", () => {
  const work = new RunnerWork();
  for (let number = 1; number <= 2_100; number++) work.add(handed(number), number);
  expect(work.of([100])).toEqual([]);
  expect(work.of([101, 2_100])).toHaveLength(2);
  expect(work.stored).toHaveLength(200);
});
