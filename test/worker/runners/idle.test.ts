/** What a runner costs D1 that has nothing to do. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { POLL_SECONDS } from "../../../src/objects/pool/rpc-types.ts";
import { pause } from "../support/eventually.ts";
import { registered } from "../support/fleet.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import type { FakeRunner } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

/** A poll until its end, and a report. */
async function idles(runner: FakeRunner): Promise<void> {
  const polling = runner.claim();
  for (let seconds = 0; seconds < POLL_SECONDS; seconds += 5) {
    await pause(30);
    advance(5);
  }
  expect(await polling).toEqual([]);
  expect((await runner.tell()).status).toBe(200);
}

test("its polls and reports ask D1 nothing", async () => {
  timersFollowClock();
  const { runner } = await registered();
  // Makes its pool, which tells D1 so.
  await idles(runner);
  const asked = vi.spyOn(env.DB, "prepare");
  for (let minute = 0; minute < 2; minute++) {
    await idles(runner);
    await idles(runner);
  }
  const statements = asked.mock.calls.map(([sql]) => sql);
  // The accounts of other tests tell their numbers when time is moved.
  expect(statements.filter((sql) => !sql.includes("account_counts"))).toEqual([]);
});
