/** An endpoint that fails for days. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { register, run } from "../support/endpoint-runs.ts";
import { getEndpoint } from "../support/endpoints.ts";
import { eventually } from "../support/eventually.ts";
import { script } from "../support/receiver.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { settled } from "../support/webhooks.ts";
import { newWorld } from "../support/world.ts";

const DAY = 86_400;

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

describe("the health of an endpoint", () => {
  test("an endpoint that has failed for 5 days is switched off", async () => {
    const world = await newWorld();
    const { id, path } = await register(world, { events: ["completed"] });
    await script(path, { status: 500 });
    for (const days of [0, 4]) {
      advance(days * DAY);
      expect((await getEndpoint(world.client, id)).enabled).toBe(true);
      const prediction = await run(world);
      // The prediction object's alarm was set by the moved clock, which is ahead of the real one.
      await passes(0, prediction);
      for (let tries = 1; tries <= 12; tries++) {
        const state = tries === 12 ? "failed" : "pending";
        const [event] = await eventually(async () => {
          const events = await settled(world.client, prediction, state);
          expect(events[0]?.deliveries[0]?.attempts).toHaveLength(tries);
          return events;
        });
        const next = event?.deliveries[0]?.next_attempt_at;
        if (next) await passes((Date.parse(next) - Date.now()) / 1_000, prediction);
      }
    }
    await eventually(async () => {
      const endpoint = await getEndpoint(world.client, id);
      expect(endpoint.enabled).toBe(false);
      expect(endpoint.notice).toMatch(/since.*status 500.*"enabled": true/s);
      const since = Date.parse(endpoint.failing_since ?? "");
      expect(Date.now() - since).toBeGreaterThan(5 * DAY * 1_000);
    });
  });
});
