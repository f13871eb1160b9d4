import { expect, test } from "vitest";
import { Placement, type RunnerState } from "../../../src/domain/scheduling/placement.ts";

const runner = (
  runner_id: string,
  free: number,
  has: { warm?: string[]; images?: string[]; hardware?: string[] } = {},
): RunnerState => ({
  runner_id,
  session: "019a0000-0000-7000-8000-000000000001",
  hardware: has.hardware ?? ["cpu"],
  free,
  warm: new Set(has.warm),
  images: new Set(has.images),
});

function placementOf(...runners: RunnerState[]): Placement<RunnerState> {
  const placement = new Placement<RunnerState>();
  for (const one of runners) placement.add(one);
  return placement;
}

const all = () => true;

const JOB = { hardware: "cpu", image: "x", container_key: "k" };

test("only a runner that serves the job's class, however warm another is", () => {
  const placement = placementOf(
    runner("other class", 9, { hardware: ["gpu"], warm: ["k"], images: ["x"] }),
    runner("both", 1, { hardware: ["gpu", "cpu"] }),
  );
  expect(placement.pick(JOB, all)?.runner_id).toBe("both");
  expect(placement.pick({ ...JOB, hardware: "none" }, all)).toBeUndefined();
  expect(placement.holders(JOB)).toEqual([]);
});

test("a warm runner first, then one that has the image, then any", () => {
  const placement = placementOf(
    runner("cold", 1_000),
    runner("image", 500, { images: ["x"] }),
    runner("warm", 1, { warm: ["k"] }),
  );
  const picked = () => placement.pick(JOB, all)?.runner_id;
  expect(picked()).toBe("warm");
  placement.remove("warm");
  expect(picked()).toBe("image");
  placement.remove("image");
  expect(picked()).toBe("cold");
  placement.remove("cold");
  expect(picked()).toBeUndefined();
});

test("a warm container of the same image with another key does not count", () => {
  const others = runner("others", 1, { warm: ["other"], images: ["x"] });
  const image = runner("image", 2, { images: ["x"] });
  expect(placementOf(others, image).pick(JOB, all)?.runner_id).toBe("image");
  const mine = runner("mine", 1, { warm: ["k"] });
  expect(placementOf(others, image, mine).pick(JOB, all)?.runner_id).toBe("mine");
});

test("of equals the one with the most room", () => {
  expect(
    placementOf(runner("a", 1), runner("b", 3), runner("c", 2)).pick(JOB, all)?.runner_id,
  ).toBe("b");
});

test("no runner without room, however warm, and none that is not usable", () => {
  const full = runner("full", 0, { warm: ["k"] });
  expect(placementOf(full, runner("over", -1), runner("b", 1)).pick(JOB, all)?.runner_id).toBe("b");
  expect(
    placementOf(runner("a", 9), runner("b", 1)).pick(JOB, (s) => s.runner_id === "b")?.runner_id,
  ).toBe("b");
});

test("a runner is in the pool once", () => {
  const placement = placementOf(runner("a", 1), runner("a", 5));
  expect([...placement.runners]).toHaveLength(1);
  expect(placement.get("a")?.free).toBe(5);
});

test("who need not download an image: those with a container of the job first", () => {
  const placement = placementOf(
    runner("none", 9, { warm: ["other"], images: ["other"] }),
    runner("image", 0, { images: ["x"] }),
    runner("warm", 0, { warm: ["k"], images: ["x"] }),
    runner("warm only", 1, { warm: ["k"] }),
  );
  expect(placement.holders(JOB)).toEqual([
    { runner_id: "warm", isWarm: true },
    { runner_id: "warm only", isWarm: true },
    { runner_id: "image", isWarm: false },
  ]);
});
