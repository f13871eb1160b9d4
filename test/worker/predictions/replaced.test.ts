/** Objects that the platform has replaced: their readers and callers are released at the next check. */
import { expect, test } from "vitest";
import { CHECK_MS } from "../../../src/objects/replacement-check.ts";
import { EventReader, eventsOf, named } from "../support/events.ts";
import { pause } from "../support/eventually.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { objectOf } from "../support/objects.ts";
import { cutOff, isCutOff } from "../support/replaced.ts";
import { newWorld } from "../support/world.ts";

test("a stream of a replaced object breaks off, and is resumed where it was", async () => {
  const nextCheck = holdTimers(CHECK_MS);
  const { client, begun } = await newWorld();
  const { id, job, runner, channel } = await begun();
  const reader = new EventReader((await client.stream(id)).body);
  await channel.output("a");
  const before = await reader.take(4);
  await cutOff(await objectOf(id));
  nextCheck();
  expect(await reader.next().catch(() => "broken off")).toBe("broken off");
  const resumed = eventsOf(client.stream(id, `?after_id=${before.at(-1)?.id}`));
  const again = await runner.connect(job);
  await again.succeed("b");
  expect(named([...before, ...(await resumed)], "output")).toEqual(["a", "b"]);
});

test("a create that waits for a replaced object is answered with a prediction that goes on", async () => {
  const nextCheck = holdTimers(CHECK_MS);
  const { client, model, runner } = await newWorld();
  const asked = { model, input: {} };
  const creating = client.json("POST", "/v1/predictions", asked, { prefer: "wait=20" });
  const { job } = await (await runner()).work();
  await cutOff(await objectOf(job.prediction_id));
  nextCheck();
  const { status, body } = await creating;
  expect([status, body]).toMatchObject([202, { id: job.prediction_id }]);
});

test("an object without readers and callers does not check", async () => {
  const nextCheck = holdTimers(CHECK_MS);
  const { client, begun } = await newWorld();
  const { id } = await begun();
  const reader = new EventReader((await client.stream(id)).body);
  await reader.take(1);
  const object = await objectOf(id);
  await reader.leave();
  await cutOff(object);
  nextCheck();
  await pause(20);
  expect(await isCutOff(object)).toBe(true);
});
