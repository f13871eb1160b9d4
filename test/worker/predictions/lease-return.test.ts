/** A runner that has returned once gets a lease again when its object is restarted. */
import { evictDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test } from "vitest";
import { objectOf } from "../support/objects.ts";
import { advance, passes, startClock, stopClock, withoutTimers } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

test("an early break does not cost a runner the lease in which to return from a restart", async () => {
  const { client, id, job, runner, channel } = await withoutTimers(async () => {
    const world = await newWorld();
    return { client: world.client, ...(await world.begun()) };
  });
  await channel.output("a");
  channel.socket.close(1001, "gone");
  await channel.closed;
  const again = await runner.connect(job);
  for (const value of ["b", "c"]) {
    advance(20);
    await again.output(value);
  }
  await evictDurableObject(await objectOf(id), { webSockets: "close" });
  await passes(1, id);
  expect(await client.status(id)).toBe("started");
  await (await runner.connect(job)).succeed("d");
  expect((await client.get(id)).output).toEqual(["a", "b", "c", "d"]);
});
