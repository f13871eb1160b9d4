/** The end of a short run is stored while its row is written, and shown to nobody before both are there. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { eventually, pause } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { inAccount, keepUp, rowOf, tablesOf } from "../support/objects.ts";
import { createWith, objectsOf, reportTo, waitingRunner } from "../support/short-runs.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(() => {
  stopClock();
  captureLog("warn");
  captureLog("error");
});
afterEach(() => {
  restore();
  startClock();
  vi.restoreAllMocks();
});

let restore = () => {};

/** Holds back the next row that is written until `release` is called. */
function holdRow() {
  const { prototype } = AccountObject;
  const { put } = prototype;
  const held = { count: 0, release: () => {} };
  const released = new Promise<void>((resolve) => {
    held.release = resolve;
  });
  Object.defineProperty(prototype, "put", {
    configurable: true,
    writable: true,
    async value(this: AccountObject, ...args: Parameters<typeof put>) {
      held.count += 1;
      if (held.count === 1) await released;
      return put.apply(this, args);
    },
  });
  restore = () => {
    held.release();
    Object.assign(prototype, { put });
  };
  return held;
}

/** A run that has ended, and whose row is on its way. */
async function ended(world: World) {
  await world.client.cancel(await world.waiting());
  await eventually(async () =>
    expect(await inAccount(world.user_id, "SELECT * FROM usage")).toHaveLength(1),
  );
  const { runner, polling } = await waitingRunner(world);
  const held = holdRow();
  const { result, objects } = await objectsOf(async () => {
    const answers: string[] = [];
    const creating = createWith(world).finally(() => answers.push("create"));
    const job = await polling;
    const reporting = reportTo(runner, job).finally(() => answers.push("report"));
    reporting.catch(() => {});
    await eventually(() => expect(held.count).toBe(1));
    return { creating, reporting, answers, job };
  });
  const object = objects[0] ?? expect.fail("it has no object");
  return { ...result, runner, held, object };
}

test("the caller and the runner get their answers only after the row is written", async () => {
  const world = await newWorld();
  const { creating, reporting, answers, held, job } = await ended(world);
  await pause(50);
  expect(answers).toEqual([]);
  held.release();
  const { body } = await creating;
  expect(body).toMatchObject({ id: job.prediction_id, status: "succeeded", output: "hi" });
  expect(await reporting).toMatchObject({ type: "ack", seq: 1 });
  expect(await rowOf(job.prediction_id)).toMatchObject({ status: "succeeded", due_at: null });
});

test("a caller is answered and the run is listed although its object died in between", async () => {
  const world = await newWorld();
  const { creating, job, object } = await ended(world);
  await pause(50);
  await abortAllDurableObjects();
  const { body } = await creating;
  expect(body).toMatchObject({ id: job.prediction_id, status: "succeeded", output: "hi" });
  await eventually(async () =>
    expect(await rowOf(job.prediction_id)).toMatchObject({ status: "succeeded" }),
  );
  await expectRemoval(world, object);
});

test("a run whose object died and whose caller left is listed after its runner reports again", async () => {
  const world = await newWorld();
  vi.spyOn(PredictionObject.prototype, "confirm").mockRejectedValue(new Error("it has left"));
  const { creating, job, object, runner } = await ended(world);
  creating.catch(() => {});
  await pause(50);
  await abortAllDurableObjects();
  await expect(creating).rejects.toThrow("503");
  expect(await rowOf(job.prediction_id)).toBeNull();
  expect(await reportTo(runner, job)).toMatchObject({ type: "ack", seq: 1 });
  advance(11);
  await runInDurableObject(object, (instance: PredictionObject) => instance.alarm());
  expect(await rowOf(job.prediction_id)).toMatchObject({ status: "succeeded" });
  await expectRemoval(world, object);
});

/** Expects the data to be removed once that is due, by the object or by its account. */
async function expectRemoval({ user_id }: World, object: DurableObjectStub<PredictionObject>) {
  expect(await tablesOf(object)).not.toEqual([]);
  advance(30 * 86_400 + 3_700);
  await runInDurableObject(object, (instance: PredictionObject) => instance.alarm());
  await keepUp(user_id);
  expect(await tablesOf(object)).toEqual([]);
}
