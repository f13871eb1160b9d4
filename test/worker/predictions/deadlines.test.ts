/** Deadlines of the queue, the setup and the run, and the retention of data. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventsOf } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { objectOf, rowOf, tablesOf } from "../support/objects.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const DAY = 86_400;

test("a prediction that no runner takes within an hour fails", async () => {
  const { client, waiting, hardware } = await newWorld();
  const id = await waiting();
  await passes(3_599, id);
  expect(await client.status(id)).toBe("pending");
  await passes(2, id);
  const { status, error } = await client.get(id);
  expect(status).toBe("failed");
  expect(error).toMatchObject({ source: "internal", message: expect.stringContaining(hardware) });
});

test("a prediction whose container is not ready in time fails", async () => {
  const { client, waiting, runner } = await newWorld();
  const id = await waiting();
  const one = await runner();
  const channel = await one.connect(await one.take());
  for (let passed = 0; passed < 1_800; passed += 28) {
    await channel.report([{ event: "setup", data: { phase: "pulling" } }]);
    expect(await client.status(id)).toBe("started");
    await passes(28, id);
  }
  expect(await client.get(id)).toMatchObject({ status: "failed", error: { source: "external" } });
  expect(await channel.next()).toMatchObject({ type: "fenced" });
});

test("a prediction that does not finish in its version's time fails", async () => {
  const { client, begun } = await newWorld({ configuration: { timeout_seconds: 40 } });
  const { id, channel } = await begun();
  await passes(20, id);
  await channel.output("a");
  await passes(15, id);
  await channel.output("b");
  expect(await client.status(id)).toBe("started");
  await passes(6, id);
  expect(await client.get(id)).toMatchObject({ status: "failed", error: { source: "external" } });
  expect(await channel.next()).toMatchObject({ type: "fenced" });
});

test("the time of setup does not count as time of the run", async () => {
  const { client, waiting, runner } = await newWorld({ configuration: { timeout_seconds: 40 } });
  const id = await waiting();
  const one = await runner();
  const channel = await one.connect(await one.take());
  for (let passed = 0; passed < 100; passed += 20) {
    await channel.report([{ event: "setup", data: { phase: "starting" } }]);
    await passes(20, id);
  }
  await channel.report([{ event: "setup", data: { phase: "ready" } }]);
  await passes(20, id);
  await channel.succeed("a");
  expect(await client.status(id)).toBe("succeeded");
});

test("a prediction whose attempts are handed out without a report again and again fails in the end", async () => {
  const { client, waiting, runner } = await newWorld();
  const id = await waiting();
  const one = await runner();
  await one.take();
  await passes(3_590, id);
  expect(await client.status(id)).toBe("pending");
  await one.take();
  await passes(11, id);
  expect(await client.get(id)).toMatchObject({ status: "failed", error: { source: "internal" } });
});

test("retention removes input, output and log and all storage; the row stays and is marked", async () => {
  const { client, waiting, runner } = await newWorld();
  const id = await waiting({ prompt: "secret" });
  const { channel } = await (await runner()).work();
  await channel.succeed("secret");
  const object = await objectOf(id);
  await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
  await passes(29 * DAY, id);
  expect(await client.get(id)).toMatchObject({ output: ["secret"], data_removed: false });
  await passes(2 * DAY, id);
  expect(await tablesOf(object)).toEqual([]);
  expect(await client.get(id)).toMatchObject({
    status: "succeeded",
    input: null,
    output: null,
    data_removed: true,
  });
  expect((await client.stream(id)).status).toBe(404);
  expect(await client.cancel(id)).toBe(409);
  await eventually(async () =>
    expect(await rowOf(id)).toMatchObject({ data_removed: 1, status: "succeeded" }),
  );
  expect(await runDurableObjectAlarm(object)).toBe(false);
});

test("a prediction that waits or runs is not removed, however long ago it was created", async () => {
  const { client, begun } = await newWorld();
  const { id, channel } = await begun();
  for (let times = 0; times < 3; times++) {
    await passes(25, id);
    await channel.output("x");
  }
  advance(20);
  await channel.succeed();
  expect(await eventsOf(client.stream(id))).not.toEqual([]);
});
