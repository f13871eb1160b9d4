/** The bar below the steps of a finished prediction. */
import { expect, test } from "vitest";
import { barParts } from "../../src/dashboard/prediction-view/bar.tsx";
import type { Step } from "../../src/domain/predictions/timeline.ts";

const step = (kind: Step["kind"], seconds: number | null, state: Step["state"] = "past"): Step => ({
  kind,
  state,
  at: 0,
  seconds,
});
const created = step("created", null);

test("the bar is full, also when the steps took less than the whole", () => {
  const parts = barParts([
    created,
    step("queued", 1),
    step("setup", null),
    step("started", 3),
    step("output", 2),
    step("done", 25),
  ]);
  expect(parts).toEqual([
    { kind: "queued", x: 0, width: 250 },
    { kind: "setup", x: 250, width: 0 },
    { kind: "started", x: 250, width: 750 },
  ]);
});

test("the bar is absent while a prediction runs, and when no step took any time", () => {
  expect(barParts([created, step("queued", 1), step("started", null, "current")])).toEqual([]);
  expect(barParts([created, step("queued", 0), step("done", 0)])).toEqual([]);
});
