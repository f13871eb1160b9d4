/** The failed tries of a webhook, as the dashboard lists them. */
import { expect, test } from "vitest";
import { codes, failuresOf } from "../../../src/dashboard/webhooks/codes.ts";

const tried = (status: number | null, error: string | null = "failed") => ({
  at: "2026-11-27T09:00:00.000Z",
  status,
  duration_ms: 5,
  error,
  response: null,
});

test.each<[(number | null)[], string]>([
  [[500], "500"],
  [[500, 500], "500 twice"],
  [[500, 500, 500], "500 three times"],
  [[500, 500, 500, 500], "500 4 times"],
  [[500, null, null, 503], "500, no response twice, 503"],
])("the statuses %j are shown as %s", (statuses, text) => {
  expect(codes(statuses.map((status) => ({ status })))).toBe(text);
});

test("failures before the last success do not count, nor does a try under way", () => {
  const failed = tried(503);
  const underWay = { ...tried(null, null), duration_ms: null };
  expect(failuresOf([tried(500), tried(200, null), failed, underWay])).toEqual([failed]);
  expect(failuresOf([tried(500), tried(200, null)])).toEqual([]);
});
