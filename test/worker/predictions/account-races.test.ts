/** Races between an account object and its predictions. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { predictionRow } from "../../../src/domain/predictions/prediction-row.ts";
import { initialState } from "../../../src/domain/predictions/state.ts";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import type { TaskStatus } from "../../../src/protocol/prediction.ts";
import { specWith } from "../../domain/predictions/samples.ts";
import { eventually } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { accountOf, inAccount, keepUp, rowOf, tablesOf } from "../support/objects.ts";
import { createWith, objectsOf, reportTo, shortRun, waitingRunner } from "../support/short-runs.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { alarmOf } from "../support/webhooks.ts";
import { newWorld } from "../support/world.ts";

beforeEach(() => {
  stopClock();
  captureLog("warn");
});
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const { put, admit } = AccountObject.prototype;

test("a key whose prediction never began is free, even after the alarm of its account", async () => {
  const world = await newWorld();
  const create = () =>
    world.client.json<{ id: string }>(
      "POST",
      "/v1/predictions",
      { model: world.model, input: {} },
      { "idempotency-key": "k" },
    );
  const lost = vi.spyOn(AccountObject.prototype, "admit").mockImplementationOnce(async function (
    this: AccountObject,
    ...args
  ) {
    await admit.apply(this, args);
    throw new Error("the answer was lost");
  });
  const discard = vi.spyOn(AccountObject.prototype, "discard").mockImplementation(() => {});
  expect((await create()).status).toBe(503);
  lost.mockRestore();
  discard.mockRestore();
  advance(301);
  await keepUp(world.user_id);
  const { status, body } = await create();
  expect(status).toBe(202);
  expect(await world.client.get(body.id)).toMatchObject({ status: "pending" });
});

test("a prediction that is deleted while its end is being stored is not stored again", async () => {
  const world = await newWorld();
  const { runner, polling } = await waitingRunner(world);
  const written = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  vi.spyOn(AccountObject.prototype, "put").mockImplementationOnce(async function (
    this: AccountObject,
    update,
  ) {
    const result = await put.call(this, update);
    written.resolve();
    await answered.promise;
    return result;
  });
  const { objects } = await objectsOf(async () => {
    const creating = createWith(world);
    const job = await polling;
    const reporting = reportTo(runner, job);
    await written.promise;
    const deleting = world.client.json("DELETE", `/v1/predictions/${job.prediction_id}`);
    await Promise.resolve();
    answered.resolve();
    await Promise.all([creating, reporting]);
    expect((await deleting).status).toBe(200);
  });
  const object = objects[0] ?? expect.fail("it has no object");
  expect([await tablesOf(object), await alarmOf(object)]).toEqual([[], null]);
});

test("a closed account asks what still runs once, and again after some minutes", async () => {
  const world = await newWorld();
  const { id } = await world.begun();
  const account = (await accountOf(world.user_id)) ?? expect.fail("it has no account");
  const cancel = vi.spyOn(PredictionObject.prototype, "cancel");
  await account.close(world.user_id);
  for (let n = 0; n < 5; n++) await runDurableObjectAlarm(account);
  expect(cancel).toHaveBeenCalledTimes(1);
  const at = await runInDurableObject(account, (_, { storage }) => storage.getAlarm());
  expect(at).toBeGreaterThanOrEqual(Date.now() + 60_000);
  advance(301);
  await runDurableObjectAlarm(account);
  expect(cancel).toHaveBeenCalledTimes(2);
  expect(await rowOf(id)).not.toBeNull();
});

test("a short run whose account was closed meanwhile leaves nothing", async () => {
  const world = await newWorld();
  await world.client.cancel(await world.waiting());
  const account = (await accountOf(world.user_id)) ?? expect.fail("it has no account");
  await account.close(world.user_id);
  const { result, objects } = await objectsOf(() => shortRun(world));
  const object = objects[0] ?? expect.fail("it has no object");
  advance(11);
  await runDurableObjectAlarm(object);
  expect([await tablesOf(object), await alarmOf(object)]).toEqual([[], null]);
  expect(await rowOf(result.id)).toBeNull();
});

test("a short run with a shorter retention than others removes its data itself", async () => {
  const world = await newWorld();
  const { runner, polling } = await waitingRunner(world);
  const { result, objects } = await objectsOf(async () => {
    const body = { model: world.model, input: {}, retention_seconds: 60 };
    const creating = world.client.create(body, { prefer: "wait=20" });
    await reportTo(runner, await polling);
    return creating;
  });
  const object = objects[0] ?? expect.fail("it has no object");
  expect(await rowOf(result.body.id)).toMatchObject({ kept_seconds: null, status: "succeeded" });
  await eventually(async () =>
    expect(await alarmOf(object)).toBeLessThanOrEqual(Date.now() + 60_000),
  );
  advance(61);
  await runDurableObjectAlarm(object);
  expect(await tablesOf(object)).toEqual([]);
});

test("the final row of a second object replaces the row that the first object wrote as it died", async () => {
  const world = await newWorld();
  await world.waiting();
  const account = (await accountOf(world.user_id)) ?? expect.fail("it has no account");
  const spec = specWith({ user_id: world.user_id });
  const told = (object: 1 | 2, status: TaskStatus, revision: number) => {
    const state = { ...initialState(spec), status };
    const objectId = String(object).repeat(64);
    return predictionRow({ ...spec, object_number: object }, state, objectId, revision);
  };
  const isListed = async (object: 1 | 2, status: TaskStatus) =>
    expect(await account.find(spec.id)).toMatchObject({
      object_id: String(object).repeat(64),
      status,
    });
  const counted = async () =>
    inAccount(world.user_id, "SELECT predictions FROM usage WHERE model_id = ?", spec.model_id);
  const end = told(1, "succeeded", 4);
  await account.put(end);
  await isListed(1, "succeeded");
  await account.put(told(2, "started", 2));
  await account.put(end);
  await isListed(2, "started");
  expect(await account.unfinished(10)).toHaveLength(2);
  expect(await counted()).toEqual([{ predictions: 0 }]);
  await account.put(told(2, "failed", 5));
  for (const late of [told(1, "pending", 1), end]) await account.put(late);
  await isListed(2, "failed");
  expect(await counted()).toEqual([{ predictions: 1 }]);
});
