import { expect, test } from "vitest";
import {
  nearerLimit,
  RequestCounter,
  rateHeaders,
} from "../../../src/domain/accounts/rate-limit.ts";

const TEN = { limit: 3, seconds: 10 };

test("the remaining requests fall to 0 and are full again in the next period", () => {
  const counts = new RequestCounter();
  const at = [1_000_000, 1_004_000, 1_009_999, 1_009_999, 1_010_000];
  expect(at.map((now) => counts.count("a", TEN, now))).toEqual([
    { limit: 3, remaining: 2, reset: 10 },
    { limit: 3, remaining: 1, reset: 6 },
    { limit: 3, remaining: 0, reset: 1 },
    { limit: 3, remaining: 0, reset: 1 },
    { limit: 3, remaining: 2, reset: 10 },
  ]);
});

test("each rate limit key has its own count", () => {
  const counts = new RequestCounter();
  counts.count("a", TEN, 0);
  expect(counts.count("b", TEN, 0).remaining).toBe(2);
});

test("an answer states the one of two rate limits that is reached first", () => {
  const token = { limit: 10, remaining: 5, reset: 3 };
  const account = { limit: 20, remaining: 4, reset: 3 };
  expect(nearerLimit(undefined, token)).toBe(token);
  expect(nearerLimit(token, account)).toBe(account);
  expect(nearerLimit(account, token)).toBe(account);
});

test("rate limit headers have the names and forms that the clients of each API read", () => {
  const rate = { limit: 10, remaining: 5, reset: 3 };
  const now = Date.parse("2026-11-20T10:15:30Z");
  expect(rateHeaders(rate, undefined, now)).toEqual({
    "x-ratelimit-limit": "10",
    "x-ratelimit-remaining": "5",
    "x-ratelimit-reset": String(Date.parse("2026-11-20T10:15:33Z") / 1_000),
  });
  expect(rateHeaders(rate, "vendorb", now)).toEqual({
    "anthropic-ratelimit-requests-limit": "10",
    "anthropic-ratelimit-requests-remaining": "5",
    "anthropic-ratelimit-requests-reset": "2026-11-20T10:15:33.000Z",
  });
  expect(rateHeaders(rate, "vendora", now)).toEqual({
    "x-ratelimit-limit-requests": "10",
    "x-ratelimit-remaining-requests": "5",
    "x-ratelimit-reset-requests": "3s",
  });
  expect(rateHeaders({ ...rate, reset: 60 }, "vendora", now)).toMatchObject({
    "x-ratelimit-reset-requests": "1m0s",
  });
});
