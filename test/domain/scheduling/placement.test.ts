import { expect, test } from "vitest";
import { Placement, type RunnerState } from "../../../src/domain/scheduling/placement.ts";

const seat = (
  runner_id: string,
  free: number,
  has: { warm?: string[]; images?: string[] } = {},
): RunnerState => ({
  runner_id,
  session: "019a0000-0000-7000-8000-000000000001",
  free,
  warm: new Set(has.warm),
  images: new Set(has.images),
});

function placementOf(...seats: RunnerState[]): Placement<RunnerState> {
  const placement = new Placement<RunnerState>();
  for (const one of seats) placement.seat(one);
  return placement;
}

const all = () => true;

const JOB = { image: "x", container_key: "k" };

test("warm first, then who has the image, then any", () => {
  const placement = placementOf(
    seat("cold", 1_000),
    seat("image", 500, { images: ["x"] }),
    seat("warm", 1, { warm: ["k"] }),
  );
  const picked = () => placement.pick(JOB, all)?.runner_id;
  expect(picked()).toBe("warm");
  placement.leave("warm");
  expect(picked()).toBe("image");
  placement.leave("image");
  expect(picked()).toBe("cold");
  placement.leave("cold");
  expect(picked()).toBeUndefined();
});

test("a container of the same image that is for others is none", () => {
  const others = seat("others", 1, { warm: ["other"], images: ["x"] });
  const image = seat("image", 2, { images: ["x"] });
  expect(placementOf(others, image).pick(JOB, all)?.runner_id).toBe("image");
  const mine = seat("mine", 1, { warm: ["k"] });
  expect(placementOf(others, image, mine).pick(JOB, all)?.runner_id).toBe("mine");
});

test("of equals the one with the most room", () => {
  expect(placementOf(seat("a", 1), seat("b", 3), seat("c", 2)).pick(JOB, all)?.runner_id).toBe("b");
});

test("nobody without room, however warm, and nobody who may not", () => {
  const full = seat("full", 0, { warm: ["k"] });
  expect(placementOf(full, seat("over", -1), seat("b", 1)).pick(JOB, all)?.runner_id).toBe("b");
  expect(
    placementOf(seat("a", 9), seat("b", 1)).pick(JOB, (s) => s.runner_id === "b")?.runner_id,
  ).toBe("b");
});

test("a runner has one seat", () => {
  const placement = placementOf(seat("a", 1), seat("a", 5));
  expect([...placement.seats]).toHaveLength(1);
  expect(placement.get("a")?.free).toBe(5);
});
