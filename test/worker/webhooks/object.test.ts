/** Webhooks and the life of the prediction object that sends them: alarm, row, end and failed creates. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Outbox } from "../../../src/domain/webhooks/outbox.ts";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { newEndpoint } from "../support/endpoints.ts";
import { eventually } from "../support/eventually.ts";
import { storeValue } from "../support/files.ts";
import { hasRow, objectOf, refuseRows, rowOf, tablesOf } from "../support/objects.ts";
import { addressOf, exchanged, freshPath, received, release, script } from "../support/receiver.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import {
  alarmOf,
  expectNoMoreThan,
  READY,
  redeliver,
  settled,
  told,
  watched,
} from "../support/webhooks.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const DOWN = new Error("it is down");

test("an event that was not posted after a 410 is in the ledger, and can be redelivered", async () => {
  const { client, path, id, channel } = await watched();
  await script(path, { status: 410 }, { status: 200 });
  await channel.report([READY]);
  await settled(client, id, "failed");
  await channel.succeed("one");
  const [, completed] = await settled(client, id, "failed", "failed");
  expect(completed).toMatchObject({ event: "completed", deliveries: [{ attempts: [] }] });
  await expectNoMoreThan(path, 1);
  await redeliver(client, id, completed?.id);
  await settled(client, id, "failed", "delivered");
  const [, second] = await told(path, 2);
  expect([second?.webhook.event, second?.output]).toEqual(["completed", ["one"]]);
});

describe("a final row that the account did not take", () => {
  const ROW_RETRY_S = 10;

  test("a final row is written again in time if a webhook is delivered in between", async () => {
    const { client, path, id, channel } = await watched({ events: ["completed"] });
    await hasRow(id);
    const send = vi.spyOn(AccountObject.prototype, "put").mockRejectedValueOnce(DOWN);
    await script(path, { status: 200, held: true });
    await channel.succeed("one");
    await eventually(() => expect(send).toHaveBeenCalledTimes(1));
    await received(path, 1);
    await release(path);
    await exchanged(path);
    await settled(client, id, "delivered");
    const alarm = (await alarmOf(await objectOf(id))) ?? expect.fail("no alarm is set");
    expect(alarm - Date.now()).toBeLessThanOrEqual(ROW_RETRY_S * 1_000);
    await passes(ROW_RETRY_S, id);
    await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
  });

  test("a final row is written again by an alarm that a webhook has set", async () => {
    const { client, path, id, channel } = await watched({ events: ["completed"] });
    await hasRow(id);
    const send = vi.spyOn(AccountObject.prototype, "put").mockRejectedValueOnce(DOWN);
    await script(path, { status: 500 }, { status: 200 });
    await channel.succeed("one");
    await eventually(() => expect(send).toHaveBeenCalledTimes(1));
    await settled(client, id, "pending");
    await passes(6, id);
    await settled(client, id, "delivered");
    await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
  });
});

describe("an object whose data was removed", () => {
  /** Makes a prediction with a value in R2, whose data retention has removed. */
  async function removed() {
    const one = await watched({ events: ["completed"], retention_seconds: 60 });
    const { client, id, runner, job, channel } = one;
    await channel.report([await storeValue(runner, job, "v".repeat(1_000))]);
    await channel.report([], { status: "succeeded", output: "value" });
    const [event] = await settled(client, id, "delivered");
    await passes(61, id);
    expect((await client.get(id)).data_removed).toBe(true);
    return { ...one, event, object: await objectOf(id) };
  }

  test("an object sends a redelivery that was ordered during its removal, and is then empty", async () => {
    const { client, path, id, event, object } = await removed();
    let ordered = false;
    const list = env.FILES.list.bind(env.FILES);
    const slow = vi.spyOn(env.FILES, "list").mockImplementation(async (options) => {
      await eventually(() => expect(ordered).toBe(true));
      return list(options);
    });
    advance(3_700);
    const alarm = runDurableObjectAlarm(object);
    await eventually(() => expect(slow).toHaveBeenCalled());
    await redeliver(client, id, event?.id);
    ordered = true;
    await alarm;
    slow.mockRestore();
    await passes(0, id);
    await settled(client, id, "delivered");
    const [, second] = await told(path, 2);
    expect(second).toMatchObject({ status: "succeeded", output: null, data_removed: true });
    await passes(0, id);
    expect(await tablesOf(object)).toEqual([]);
  });

  test("an object stays empty when an attempt that counted as lost ends after its removal", async () => {
    const settle = vi.spyOn(Outbox.prototype, "settle");
    const { client, path, id, channel } = await watched({ events: ["completed"] });
    await script(path, { status: 200, held: true }, { status: 200 });
    await channel.succeed("one");
    await received(path, 1);
    await passes(26, id);
    await settled(client, id, "delivered");
    const object = await objectOf(id);
    expect((await client.fetch(`/v1/predictions/${id}`, { method: "DELETE" })).status).toBe(200);
    expect(await tablesOf(object)).toEqual([]);
    expect(settle).toHaveBeenCalledTimes(1);
    await release(path);
    await eventually(() => expect(settle).toHaveBeenCalledTimes(2));
    expect(settle.mock.results.map(({ value }) => value)).toEqual(["delivered", "late"]);
    expect([await tablesOf(object), await alarmOf(object)]).toEqual([[], null]);
  });
});

describe("a prediction that could not be created", () => {
  const newObject = () => vi.spyOn(env.PREDICTION, "newUniqueId");

  const objectIn = (newId: ReturnType<typeof newObject>) =>
    env.PREDICTION.get(newId.mock.results.at(-1)?.value);

  test("a prediction that could not be created posts no webhooks", async () => {
    const { client, model } = await newWorld();
    const [own, account] = [freshPath(), freshPath()];
    await newEndpoint(client, { url: addressOf(account) });
    const newId = newObject();
    refuseRows();
    const body = { model, input: {}, webhook: { url: addressOf(own) } };
    expect((await client.refused("/v1/predictions", body)).status).toBe(503);
    expect(await tablesOf(objectIn(newId))).toEqual([]);
    await expectNoMoreThan(own, 0);
    await expectNoMoreThan(account, 0);
  });

  test("a prediction that could not be created posts nothing that its runner reports", async () => {
    const world = await newWorld();
    const path = freshPath();
    const webhook = { url: addressOf(path), events: ["output", "completed"] };
    const runner = await world.runner();
    const taking = runner.take();
    const handed = Promise.withResolvers<void>();
    vi.spyOn(AccountObject.prototype, "put").mockImplementation(async () => {
      await handed.promise;
      throw DOWN;
    });
    const newId = newObject();
    const body = { model: world.model, input: {}, webhook };
    const refusal = world.client.refused("/v1/predictions", body);
    const { lease } = await taking;
    handed.resolve();
    expect((await refusal).status).toBe(503);
    const frame = {
      type: "events",
      seq: 1,
      events: [],
      finish: { status: "succeeded", output: "none" },
    };
    expect(await runner.report(lease, frame)).toMatchObject({ type: "fenced" });
    expect(await tablesOf(objectIn(newId))).toEqual([]);
    await expectNoMoreThan(path, 0);
  });
});
