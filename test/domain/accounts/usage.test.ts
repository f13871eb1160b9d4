/** The usage report of an account. */
import { expect, test } from "vitest";
import { daysOfMonth, lastDays, usageReport } from "../../../src/domain/accounts/usage.ts";

const row = (day: string, model_id: string, predictions: number) => ({
  day,
  model_id,
  ...counted(predictions, predictions - 1),
});
const counted = (predictions: number, failed: number) => ({
  predictions,
  failed,
  execution_ms: predictions * 250,
  setup_ms: predictions * 20,
  input_tokens: predictions * 7,
  output_tokens: predictions * 3,
  cached_tokens: predictions,
  images: 0,
  cost: predictions * 125,
});
const nothing = counted(0, 0);
const NOTHING = { models: [], rows: [], trimmed_to: null };

test("the last days of a usage report are days of UTC, also across the end of a month, a year or February", () => {
  const midnight = Date.UTC(2026, 0, 1);
  expect(lastDays(2, midnight)).toEqual(["2025-12-31", "2026-01-01"]);
  expect(lastDays(2, midnight - 1)).toEqual(["2025-12-30", "2025-12-31"]);
  expect(lastDays(3, Date.UTC(2028, 2, 1, 12))).toEqual(["2028-02-28", "2028-02-29", "2028-03-01"]);
  expect(new Set(lastDays(90, midnight)).size).toBe(90);
});

test("a month has all of its days, and the current month the days up to today", () => {
  const now = Date.UTC(2028, 2, 2, 12);
  expect(daysOfMonth("2028-03", now)).toEqual(["2028-03-01", "2028-03-02"]);
  const february = daysOfMonth("2028-02", now);
  expect([february.length, february[0], february.at(-1)]).toEqual([29, "2028-02-01", "2028-02-29"]);
  expect(daysOfMonth("2027-12", now)).toHaveLength(31);
});

test("the usage report of an account without predictions has only empty days", () => {
  expect(usageReport(["2026-11-20", "2026-11-21"], NOTHING)).toEqual({
    days: [
      { day: "2026-11-20", ...nothing, models: [] },
      { day: "2026-11-21", ...nothing, models: [] },
    ],
    models: [],
    total: nothing,
    trimmed_to: null,
  });
});

test("models have the same order on every day of a usage report, with the other models last", () => {
  const report = usageReport(["2026-11-20", "2026-11-21"], {
    models: [
      { model_id: "b", model: "ada/story" },
      { model_id: "a", model: "bob/hello" },
    ],
    rows: [
      row("2026-11-20", "a", 2),
      row("2026-11-20", "", 1),
      row("2026-11-20", "b", 5),
      row("2026-11-21", "b", 4),
    ],
    trimmed_to: null,
  });
  expect(report.models).toEqual([
    { model: "ada/story", ...counted(9, 7) },
    { model: "bob/hello", ...counted(2, 1) },
    { model: undefined, ...counted(1, 0) },
  ]);
  expect(report.days).toEqual([
    { day: "2026-11-20", ...counted(8, 5), models: [counted(5, 4), counted(2, 1), counted(1, 0)] },
    { day: "2026-11-21", ...counted(4, 3), models: [counted(4, 3), nothing, nothing] },
  ]);
  expect(report.total).toEqual(counted(12, 8));
});
