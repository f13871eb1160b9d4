/** The `started` row of a prediction: only a run that lasts writes it. */
import { afterEach, expect, test, vi } from "vitest";
import { newWorld } from "../support/world.ts";

const STARTED_ROW_MS = 2_000;

afterEach(() => vi.restoreAllMocks());

/** Returns how many timers for the `started` row were set; each keeps an object awake, which is billed. */
async function timersOf(run: (channel: Awaited<ReturnType<typeof connected>>) => Promise<unknown>) {
  const channel = await connected();
  const timers = vi.spyOn(globalThis, "setTimeout");
  await run(channel);
  return timers.mock.calls.filter(([, ms]) => ms === STARTED_ROW_MS).length;
}

async function connected() {
  const world = await newWorld();
  await world.waiting();
  const runner = await world.runner();
  return runner.connect(await runner.take());
}

test("a run that goes on has its row written again after a while", async () => {
  expect(await timersOf((channel) => channel.report([]))).toBe(1);
});

test("a run that ends in its first frame leaves no timer behind", async () => {
  expect(await timersOf((channel) => channel.succeed("all"))).toBe(0);
});

test("a run that is handed back has its row written again if it waits on", async () => {
  expect(
    await timersOf(async (channel) => {
      await channel.report([]);
      channel.send({ type: "release", reason: "shutting down" });
      await channel.closed;
    }),
  ).toBe(2);
});
