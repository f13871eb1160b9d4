/** A runner that never connects, while objects restart and predictions end. */
import { evictDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { objectOf } from "../support/objects.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { asideUntil, both } from "../support/two-runners.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

describe("a runner that a second one outruns", () => {
  test("a runner that never connects is set aside after three jobs, whatever was restarted or ended meanwhile", async () => {
    const world = await newWorld();
    const [first, second] = [await world.runner(), await world.runner()];
    for (let n = 0; n < 3; n++) {
      expect(await asideUntil(first)).toBeNull();
      const { id, next } = await both(world, first, second);
      const channel = await second.connect(next);
      if (n === 0) await evictDurableObject(await objectOf(id), { webSockets: "hibernate" });
      await channel.succeed();
      await passes(3.8, id);
      expect(await asideUntil(first)).toBeNull();
      await passes(0.2, id);
      await passes(1, id);
    }
    await eventually(async () => expect(await asideUntil(first)).not.toBeNull());
  });
});
