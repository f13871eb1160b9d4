/** How accounts tell D1 how often they ran models: absolute figures, now and then. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import type { CountMessage } from "../../../src/protocol/queue.ts";
import { eventually } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { accountOf, keepUp } from "../support/objects.ts";
import { deliver } from "../support/queues.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const publicCountOf = async ({ client, model }: World) =>
  (await client.ok<Model>("GET", `/v1/models/${model}`)).predictions_count;

/** What accounts tell is held back. */
function holdCounts() {
  const told: CountMessage[] = [];
  const sending = vi.spyOn(env.COUNTS, "sendBatch").mockImplementation(async (messages) => {
    for (const { body } of messages) told.push(body);
    return { metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } };
  });
  return { told, sending };
}

test("figures that are told twice, late or never do no harm: they are absolute, and only rise", async () => {
  const { told } = holdCounts();
  const world = await newWorld();
  for (let n = 0; n < 3; n++) {
    await world.client.cancel(await world.waiting());
    await keepUp(world.user_id);
    advance(601);
  }
  expect(told.map(({ predictions }) => predictions)).toEqual([1, 2, 3]);
  const [first, second, third] = told;
  await deliver("counts", second, second);
  expect(await publicCountOf(world)).toBe(2);
  await deliver("counts", first);
  expect(await publicCountOf(world)).toBe(2);
  await deliver("counts", third, first, second, { hello: 1 });
  expect(await publicCountOf(world)).toBe(3);
});

test("they are told with the first, then once a minute, and at last by the alarm", async () => {
  const { told } = holdCounts();
  const world = await newWorld();
  const run = async () => world.client.cancel(await world.waiting());
  await run();
  await eventually(() => expect(told).toHaveLength(1));
  await run();
  await run();
  expect(told).toHaveLength(1);
  advance(61);
  await run();
  await eventually(() => expect(told.map(({ predictions }) => predictions)).toEqual([1, 4]));
  await run();
  const account = (await accountOf(world.user_id)) ?? expect.fail("it has no account");
  const at = await runInDurableObject(account, (_, { storage }) => storage.getAlarm());
  expect(at).toBeLessThanOrEqual(Date.now() + 600_000);
  advance(600);
  await keepUp(world.user_id);
  expect(told.at(-1)).toMatchObject({ user_id: world.user_id, predictions: 5 });
});

test("what could not be told is told later", async () => {
  const { told, sending } = holdCounts();
  sending.mockRejectedValueOnce(new Error("the queue is down"));
  captureLog("warn");
  const world = await newWorld();
  await world.waiting();
  await eventually(() => expect(sending).toHaveBeenCalledTimes(1));
  expect(told).toEqual([]);
  advance(601);
  await keepUp(world.user_id);
  expect(told).toMatchObject([{ predictions: 1 }]);
});

test("while D1 fails messages are retried, and nothing is acknowledged", async () => {
  const message = { user_id: crypto.randomUUID(), model_id: crypto.randomUUID(), predictions: 1 };
  captureLog("warn");
  vi.spyOn(env.DB, "batch").mockRejectedValue(new Error("D1 is down"));
  const result = await deliver("counts", message);
  expect(result.explicitAcks).toEqual([]);
  expect(result.retryMessages).toMatchObject([{ msgId: "m0" }]);
});
