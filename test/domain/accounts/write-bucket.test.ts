import { expect, test } from "vitest";
import { WriteBucket } from "../../../src/domain/accounts/write-bucket.ts";

const RATES = { rows: 10, bytes: 100 };
/** A full bucket with these rates. */
const FULL = { rows: 600, bytes: 40_000 };
const rows = (count: number) => ({ rows: count, bytes: 0 });

test("a new bucket is full, and fills no further", () => {
  const bucket = new WriteBucket(RATES, undefined);
  expect(bucket.take(FULL, 5_000)).toBe(0);
  expect(bucket.take(rows(1), 5_000)).toBe(100);
  expect(bucket.take(rows(600), 1_000_000)).toBe(0);
  expect(bucket.take(rows(1), 1_000_000)).toBe(100);
});

test("a refused cost states the time until its slower kind has flowed in, and takes nothing", () => {
  const bucket = new WriteBucket(RATES, undefined);
  bucket.take(FULL, 0);
  expect(bucket.take({ rows: 20, bytes: 1_000 }, 0)).toBe(10_000);
  expect(bucket.take({ rows: 20, bytes: 1_000 }, 9_999)).toBe(1);
  expect(bucket.take({ rows: 20, bytes: 1_000 }, 10_000)).toBe(0);
});

test("a cost beyond the capacity is taken from a full bucket, which owes the rest", () => {
  const bucket = new WriteBucket(RATES, undefined);
  expect(bucket.take(rows(1_000), 0)).toBe(0);
  expect(bucket.take(rows(1), 0)).toBe(40_100);
});

test("a difference is given back to the bucket up to its capacity, or owed", () => {
  const bucket = new WriteBucket(RATES, undefined);
  bucket.take(rows(100), 0);
  bucket.settle(rows(-200), 0);
  expect(bucket.state.rows).toBe(600);
  bucket.settle(rows(700), 0);
  expect(bucket.state.rows).toBe(-100);
});

test("the change of a bucket since a state is a fraction of its capacity", () => {
  const bucket = new WriteBucket(RATES, undefined);
  const before = bucket.state;
  bucket.take({ rows: 60, bytes: 100 }, 0);
  expect(bucket.changeSince(before)).toBeCloseTo(0.1);
  expect(new WriteBucket(RATES, bucket.state).state).toEqual(bucket.state);
});

test("a clock that goes back takes nothing from the bucket", () => {
  const bucket = new WriteBucket(RATES, { rows: 5, bytes: 5, at: 10_000 });
  bucket.settle(rows(0), 5_000);
  expect(bucket.state.rows).toBe(5);
});
