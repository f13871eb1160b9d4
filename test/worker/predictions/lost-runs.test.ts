/** Runs that end without their runner: the fleet's page no longer counts them as that runner's. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { shown } from "../support/fleet.ts";
import type { Channel } from "../support/runner.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** Passes time while the runner reports every 20 s at least. */
async function passesWhileHeard(seconds: number, id: string, channel: Channel): Promise<void> {
  for (let left = seconds; left > 0; left -= 20) {
    await channel.output("at it");
    await passes(Math.min(left, 20), id);
  }
}

const ends: [string, (world: World, id: string, channel: Channel) => Promise<unknown>][] = [
  ["a run whose lease has ended is not the runner's any more", (_, id) => passes(31, id)],
  [
    "a run whose cancel is enforced is not the runner's any more",
    async ({ client }, id, channel) => {
      await client.cancel(id);
      await channel.next();
      await passesWhileHeard(60, id, channel);
    },
  ],
  [
    "a run whose time is over is not the runner's any more",
    (_, id, channel) => passesWhileHeard(80, id, channel),
  ],
];

test.each(ends)("%s", async (_, end) => {
  const world = await newWorld({ configuration: { timeout_seconds: 80 } });
  const { id, runner, channel } = await world.begun();
  await runner.tell({ running: [id] });
  expect((await shown(runner.id))?.running).toEqual([id]);
  await end(world, id, channel);
  await eventually(async () => expect((await shown(runner.id))?.running).toEqual([]));
});
