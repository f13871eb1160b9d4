/** A hundred calls that wait for one prediction. */
import { afterEach, expect, test, vi } from "vitest";
import { startClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

test("a hundred calls wait for one prediction, and a later one is answered at once with its state", async () => {
  const { client, model, runner } = await newWorld();
  const headers = { prefer: "wait=60", "idempotency-key": "k" };
  const waits = Array.from({ length: 101 }, () => client.create({ model, input: {} }, headers));
  expect((await Promise.race(waits)).status).toBe(202);
  await (await (await runner()).work()).channel.succeed("a");
  const statuses = (await Promise.all(waits)).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([...Array(100).fill(200), 202]);
});
