/** Output beyond the limit, after output within it. */
import { afterEach, expect, test } from "vitest";
import { storeValue } from "../support/files.ts";
import { startClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

afterEach(startClock);

/** A prediction whose runner has reported once. */
async function begun() {
  const world = await newWorld();
  return { client: world.client, ...(await world.begun()) };
}

test("a prediction with more output than the limit fails and keeps all its events", async () => {
  const { client, id, channel, runner, job } = await begun();
  const stored = await storeValue(runner, job, "x".repeat(9 * 1024 * 1024));
  await channel.report([stored]);
  channel.send({ type: "events", seq: 3, events: [stored] });
  expect(await channel.next()).toMatchObject({ type: "fenced" });
  expect(await client.get(id)).toMatchObject({ status: "failed", error: { source: "internal" } });
});
