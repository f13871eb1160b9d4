import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { hasRoom, OpenRequest } from "../../../src/domain/accounts/open-requests.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const enter = () => OpenRequest.enter("ada", 2);

test("an account can hold a limited number of open requests, and ending one frees one place", () => {
  const [first, second] = [enter(), enter()];
  expect(enter()).toBeUndefined();
  expect(OpenRequest.enter("bob", 2)).toBeDefined();
  first?.leave();
  first?.leave();
  const third = enter();
  expect(third).toBeDefined();
  expect(hasRoom("ada", 2)).toBe(false);
  for (const one of [second, third]) one?.leave();
  expect(hasRoom("ada", 1)).toBe(true);
});

test("an open request that is not renewed no longer counts", () => {
  const [renewed, other] = [enter(), enter()];
  vi.advanceTimersByTime(14_000);
  renewed?.renew();
  expect(enter()).toBeUndefined();
  vi.advanceTimersByTime(2_000);
  const third = enter();
  expect(third).toBeDefined();
  expect(enter()).toBeUndefined();
  for (const one of [renewed, other, third]) one?.leave();
});
