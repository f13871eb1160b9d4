/** Counts of runs that are sent at once, twice, or for a version that is deleted. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { publish } from "../support/catalogue.ts";
import { countOf } from "../support/counts.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newWorld, operator, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

test("thirty predictions at once are counted as thirty", async () => {
  const world = await newWorld();
  // An account may have 20 predictions waiting for each hardware.
  const hardware_identifier = unique("hw");
  await operator.ok("PUT", `/v1/operator/hardware/${hardware_identifier}`, { name: "Another" });
  await publish(world.client, world.model, { configuration: { hardware_identifier } });
  await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      world.client.create({ model: `${world.model}:${1 + (n % 2)}`, input: { n } }),
    ),
  );
  expect(await countOf(world)).toBe(30);
});

test("creates with the same Idempotency-Key are counted once", async () => {
  const world = await newWorld();
  const headers = { "idempotency-key": unique("key") };
  const ids = await Promise.all([1, 2, 3].map(() => world.waiting({}, headers)));
  ids.push(await world.waiting({}, headers));
  expect(new Set(ids).size).toBe(1);
  expect(await countOf(world)).toBe(1);
});

test("a model's count stays when a version is deleted", async () => {
  const world = await newWorld();
  await world.client.cancel(await world.waiting());
  await world.client.ok("DELETE", `/v1/models/${world.model}/versions/1`);
  expect(await countOf(world)).toBe(1);
});
