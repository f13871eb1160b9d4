/** The counts of runs per model that accounts send to D1, as absolute figures. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import type { CountMessage } from "../../../src/protocol/queue.ts";
import { giveUp } from "../support/accounts.ts";
import { eventually } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { accountOf, inAccount, keepUp, rowOf } from "../support/objects.ts";
import { deliver } from "../support/queues.ts";
import { shortRun } from "../support/short-runs.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const publicCountOf = async ({ client, model }: World) =>
  (await client.ok<Model>("GET", `/v1/models/${model}`)).predictions_count;

/** Holds back the messages of accounts. */
function holdCounts() {
  const told: CountMessage[] = [];
  const sending = vi.spyOn(env.COUNTS, "sendBatch").mockImplementation(async (messages) => {
    for (const { body } of messages) if ("model_id" in body) told.push(body);
    return { metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } };
  });
  return { told, sending };
}

test("counts that arrive twice, late or never do no harm, because they are absolute and only rise", async () => {
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

test("counts are sent with the first prediction, then once a minute, and last by the alarm", async () => {
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

test("counts are sent once a minute also if the account is evicted after each prediction", async () => {
  const { told } = holdCounts();
  const world = await newWorld();
  for (let n = 0; n < 5; n++) {
    await world.client.cancel(await world.waiting());
    const account = (await accountOf(world.user_id)) ?? expect.fail("it has no account");
    await eventually(() => expect(told.length).toBeGreaterThan(0));
    await evictDurableObject(account);
    advance(25);
  }
  expect(told.map(({ predictions }) => predictions)).toEqual([1, 4]);
});

test("counts that could not be sent are sent later", async () => {
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

test("the count of a short run that could not be sent is sent a minute later", async () => {
  const { told, sending } = holdCounts();
  sending.mockRejectedValueOnce(new Error("the queue is down"));
  captureLog("warn");
  const world = await newWorld();
  await shortRun(world);
  const account = (await accountOf(world.user_id)) ?? expect.fail("it has no account");
  await eventually(async () => {
    const at = await runInDurableObject(account, (_, { storage }) => storage.getAlarm());
    expect(at).toBeLessThanOrEqual(Date.now() + 60_000);
  });
  expect(told).toEqual([]);
  advance(60);
  await keepUp(world.user_id);
  expect(told).toMatchObject([{ predictions: 1 }]);
});

const usageDays = async ({ user_id }: World) =>
  (await inAccount<{ day: string }>(user_id, "SELECT day FROM usage ORDER BY day")).map(
    ({ day }) => day,
  );

test("counts of past days are summed once, and usage is removed with the history", async () => {
  const { told } = holdCounts();
  const world = await newWorld();
  const run = async () => world.client.cancel(await world.waiting());
  const day = () => new Date().toISOString().slice(0, 10);
  const days: string[] = [];
  for (let n = 0; n < 4; n++) {
    await run();
    await eventually(async () => expect(await usageDays(world)).toContain(day()));
    days.push(day());
    await keepUp(world.user_id);
    advance(86_400);
  }
  await run();
  await eventually(() => expect(told.at(-1)?.predictions).toBe(5));
  const [closed] = await inAccount(world.user_id, "SELECT closed FROM counts");
  expect(closed).toEqual({ closed: 2 });
  await eventually(async () => expect(await usageDays(world)).toEqual([...days, day()]));
  advance(400 * 86_400);
  await run();
  await eventually(() => expect(told.at(-1)?.predictions).toBe(6));
  await eventually(async () =>
    expect((await usageDays(world)).slice(0, -1)).not.toContain(days[0]),
  );
});

test("an end that is reported days late is counted on a day that is still open", async () => {
  const { told } = holdCounts();
  const world = await newWorld();
  await world.client.cancel(await world.waiting());
  await eventually(() => expect(told).toHaveLength(1));
  const account = (await accountOf(world.user_id)) ?? expect.fail("it has no account");
  const first = (await account.find(await world.waiting())) ?? expect.fail("it has no row");
  advance(5 * 86_400);
  await world.client.cancel(await world.waiting());
  await eventually(() => expect(told.at(-1)?.predictions).toBe(3));
  const counted = () => inAccount(world.user_id, "SELECT sum(predictions) AS n FROM usage");
  await eventually(async () => expect(await counted()).toEqual([{ n: 2 }]));
  const late = { ...first, status: "failed" as const };
  await account.put({
    ...late,
    revision: 9,
    user_id: world.user_id,
    token_id: "",
    cost: 0,
  });
  expect(await counted()).toEqual([{ n: 3 }]);
  const open = new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 10);
  expect(await usageDays(world)).toContain(open);
  advance(61);
  await world.waiting();
  await eventually(() => expect(told.at(-1)?.predictions).toBe(4));
});

test("a count that fell with a refused create is sent when it is as high again", async () => {
  const { told } = holdCounts();
  const world = await newWorld();
  await world.waiting();
  await eventually(() => expect(told).toHaveLength(1));
  const account = (await accountOf(world.user_id)) ?? expect.fail("it has no account");
  const row = await rowOf(await world.waiting());
  advance(61);
  await world.waiting();
  await eventually(() => expect(told.at(-1)?.predictions).toBe(3));
  await account.discard(row?.id ?? "", row?.object_id ?? "");
  advance(61);
  await world.waiting();
  await eventually(() => expect(told.map(({ predictions }) => predictions)).toEqual([1, 3, 3]));
  const toldAt = async () =>
    (
      await env.DB.prepare("SELECT told_at FROM account_counts WHERE user_id = ?")
        .bind(world.user_id)
        .first<{ told_at: number }>()
    )?.told_at;
  await deliver("counts", told[1]);
  const before = await toldAt();
  advance(61);
  await deliver("counts", told[2]);
  expect(await toldAt()).toBeGreaterThan(before ?? Number.POSITIVE_INFINITY);
});

test("a closed account removes its data while the queue is down", async () => {
  const { sending } = holdCounts();
  captureLog("warn");
  const world = await newWorld();
  const id = await world.waiting();
  await world.client.cancel(id);
  sending.mockRejectedValue(new Error("the queue is down"));
  advance(61);
  await world.client.cancel(await world.waiting());
  const counted = () => inAccount(world.user_id, "SELECT sum(predictions) AS n FROM usage");
  await eventually(async () => expect(await counted()).toEqual([{ n: 2 }]));
  await giveUp(world);
  for (let n = 0; n < 5; n++) {
    advance(61);
    await keepUp(world.user_id);
  }
  expect(await inAccount(world.user_id, "SELECT id FROM predictions")).toEqual([]);
  const account = await accountOf(world.user_id);
  expect(await account?.isEmpty()).toBe(false);
  sending.mockResolvedValue({ metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } });
  advance(61);
  await keepUp(world.user_id);
  expect(await account?.isEmpty()).toBe(true);
});

test("messages of counts are retried while D1 fails, and none is acknowledged", async () => {
  const message = { user_id: crypto.randomUUID(), model_id: crypto.randomUUID(), predictions: 1 };
  captureLog("warn");
  vi.spyOn(env.DB, "batch").mockRejectedValue(new Error("D1 is down"));
  const result = await deliver("counts", message);
  expect(result.explicitAcks).toEqual([]);
  expect(result.retryMessages).toMatchObject([{ msgId: "m0" }]);
});
