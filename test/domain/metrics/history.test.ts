import { expect, test } from "vitest";
import { boundariesOf, pointsOf, SPANS, type SumsAt } from "../../../src/domain/metrics/history.ts";
import { type Measures, summed } from "../../../src/domain/metrics/measures.ts";

const NOW = Date.UTC(2026, 10, 29, 12, 3);
const MINUTE = 60_000;

test("the points of an hour begin every five minutes, and the last one ends now", () => {
  const boundaries = boundariesOf("1h", NOW);
  expect(boundaries).toHaveLength(SPANS["1h"].points + 1);
  expect(boundaries.at(-2)).toBe(NOW - 3 * MINUTE);
  expect(boundaries.at(-1)).toBe(NOW);
  expect(boundaries[0]).toBe(NOW - 58 * MINUTE);
});

test("a point has what has risen since the one before, of all series together", () => {
  const boundaries = [0, 10, 20, 30];
  const a: SumsAt[] = [
    { at: 10, counts: { succeeded: 2 } },
    { at: 30, counts: { succeeded: 3, "failed:model": 1 } },
  ];
  const b: SumsAt[] = [{ at: 15, counts: { succeeded: 5, canceled: 1 } }];
  const points = pointsOf([a, b], boundaries);
  expect(points.map(({ succeeded, failed, canceled }) => [succeeded, failed, canceled])).toEqual([
    [2, 0, 0],
    [5, 0, 1],
    [1, 1, 0],
  ]);
});

test("percentiles lie in the bucket that has their run", () => {
  const many = (bucket: number, count: number): Measures => ({ [`queue:${bucket}`]: count });
  // Bucket 3 has times of 40 to 80 ms, bucket 10 those of 5,120 to 10,240 ms.
  const counts = summed(many(3, 90), many(10, 10));
  const [point] = pointsOf([[{ at: 5, counts }]], [0, 10]);
  const { p50, p95 } = point?.times.queue ?? expect.fail("it has no times");
  expect(p50).toBeGreaterThan(40);
  expect(p50).toBeLessThanOrEqual(80);
  expect(p95).toBeCloseTo(7_680);
  expect(point?.times.setup).toBeNull();
});

test("counts from before the first boundary are in no point", () => {
  const samples = [
    { at: 1, counts: { succeeded: 7 } },
    { at: 15, counts: { succeeded: 9 } },
  ];
  expect(pointsOf([samples], [10, 20]).map(({ succeeded }) => succeeded)).toEqual([2]);
});
