import { expect, test } from "vitest";
import { retryAfterMs } from "../../../src/domain/webhooks/delivery.ts";

const NOW = Date.parse("2026-01-31T12:00:00Z");

test.each([
  ["120", 120_000],
  ["1", 1_000],
  ["999999999", 999_999_999_000],
  ["Sat, 31 Jan 2026 12:01:30 GMT", 90_000],
  ["Saturday, 31-Jan-26 12:01:30 GMT", 90_000],
])("the header Retry-After: %s asks for %d ms", (header, ms) =>
  expect(retryAfterMs(header, NOW)).toBe(ms),
);

test.each([
  [null],
  [""],
  ["0"],
  ["-5"],
  ["1.5"],
  ["soon"],
  ["9".repeat(400)],
  ["Infinity"],
  ["Sat, 31 Jan 2026 11:59:59 GMT"],
])("the header Retry-After: %s asks for nothing", (header) =>
  expect(retryAfterMs(header, NOW)).toBeUndefined(),
);
