/** A run that ends without its runner is none of that runner's any more: the fleet's page says so. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { shown } from "../support/fleet.ts";
import type { Channel } from "../support/runner.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** The runner is there, and says something every 20 s at least. */
async function passesWhileHeard(seconds: number, id: string, channel: Channel): Promise<void> {
  for (let left = seconds; left > 0; left -= 20) {
    await channel.output("at it");
    await passes(Math.min(left, 20), id);
  }
}

const ends: [string, (world: World, id: string, channel: Channel) => Promise<unknown>][] = [
  ["when its lease has ended", (_, id) => passes(31, id)],
  [
    "when a cancel is enforced",
    async ({ client }, id, channel) => {
      await client.cancel(id);
      await channel.next();
      await passesWhileHeard(60, id, channel);
    },
  ],
  ["when the time of the run is over", (_, id, channel) => passesWhileHeard(80, id, channel)],
];

test.each(ends)("%s", async (_, end) => {
  const world = await newWorld({ configuration: { timeout_seconds: 80 } });
  const { id, runner, channel } = await world.begun();
  await runner.tell({ running: [id] });
  expect((await shown(runner.id))?.running).toEqual([id]);
  await end(world, id, channel);
  await eventually(async () => expect((await shown(runner.id))?.running).toEqual([]));
});
