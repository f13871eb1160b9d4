/** The fake timers of tests, beside objects that set timers of their own. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { fakeTimers, startClock } from "./time.ts";

afterEach(startClock);

const waits = () => new Promise<string>((resolve) => setTimeout(() => resolve("done"), 5));

test("an object's timer runs in the object while a test fakes its own timers", async () => {
  const [one, other] = [env.POOL.getByName("one"), env.POOL.getByName("other")];
  fakeTimers();
  expect(await runInDurableObject(one, waits)).toBe("done");
  startClock();
  await runInDurableObject(one, fakeTimers);
  const faked = runInDurableObject(one, waits);
  expect(await runInDurableObject(other, waits)).toBe("done");
  expect(vi.getTimerCount()).toBe(1);
  await runInDurableObject(one, () => vi.advanceTimersByTimeAsync(5));
  expect(await faked).toBe("done");
});
