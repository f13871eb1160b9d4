/** The account's object dies at each step of a prediction: nothing is lost, runs twice or counts twice. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { eventually } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { inAccount, keepUp, objectOf, rowOf, tablesOf } from "../support/objects.ts";
import { objectsOf, shortRun } from "../support/short-runs.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
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

type When = "before it" | "after it";

let restore = () => {};

/** The next call of this method meets its death, before it has done anything or when it has done all. */
function dieOnce(method: "put" | "claim", when: When) {
  const { prototype } = AccountObject;
  const call = prototype[method];
  const deaths = { count: 0 };
  Object.defineProperty(prototype, method, {
    configurable: true,
    writable: true,
    async value(this: AccountObject, ...args: unknown[]) {
      if (deaths.count > 0) return Reflect.apply(call, this, args);
      deaths.count += 1;
      if (when === "after it") await Reflect.apply(call, this, args);
      Reflect.get(this, "ctx").abort("it dies here");
    },
  });
  restore = () => void Object.assign(prototype, { [method]: call });
  return deaths;
}

const usageOf = async ({ user_id }: World) =>
  inAccount<{ predictions: number; failed: number }>(
    user_id,
    "SELECT coalesce(sum(predictions), 0) AS predictions, coalesce(sum(failed), 0) AS failed FROM usage",
  );

/** What its account says of each of its predictions, once all that was to be repaired is. */
async function statuses({ user_id }: World): Promise<string[]> {
  advance(301);
  await keepUp(user_id);
  const rows = await inAccount(user_id, "SELECT * FROM predictions");
  return rows.map(({ status }) => status).sort();
}

describe.each<When>(["before it", "after it"])("an account that dies %s", (when) => {
  test("writes the first row: the create is refused, and the next one runs", async () => {
    const world = await newWorld();
    await world.client.cancel(await world.waiting());
    const deaths = dieOnce("put", when);
    const refused = await world.client.refused("/v1/predictions", {
      model: world.model,
      input: {},
    });
    expect([refused.status, deaths.count]).toEqual([503, 1]);
    const id = await world.waiting();
    const { job, channel } = await (await world.runner()).work();
    expect(job.prediction_id).toBe(id);
    await channel.succeed("a");
    await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
    // A first row that was written all the same is found to belong to nothing.
    const ended = (await statuses(world)).filter((status) => status !== "failed");
    expect(ended).toEqual(["canceled", "succeeded"]);
  });

  test("takes a claim: the same key runs it once", async () => {
    const world = await newWorld();
    const deaths = dieOnce("claim", when);
    const headers = { "idempotency-key": "k" };
    const body = { model: world.model, input: {} };
    const first = await world.client.json("POST", "/v1/predictions", body, headers);
    expect([first.status, deaths.count]).toEqual([503, 1]);
    const again = await Promise.all([1, 2, 3].map(() => world.client.create(body, headers)));
    const ids = new Set(again.map(({ body }) => body.id));
    expect(ids.size).toBe(1);
    const jobs = await (await world.runner(5)).claim();
    expect(jobs.map(({ prediction_id }) => prediction_id)).toEqual([...ids]);
  });

  test("is told of a short run: the answer is the result, and its row and removal follow", async () => {
    const world = await newWorld();
    await world.client.cancel(await world.waiting());
    await eventually(async () => expect(await usageOf(world)).toMatchObject([{ predictions: 1 }]));
    const deaths = dieOnce("put", when);
    const { result, objects } = await objectsOf(() => shortRun(world));
    const { id, status, output } = result;
    expect([status, output, deaths.count]).toEqual(["succeeded", "hi", 1]);
    const object = objects[0] ?? expect.fail("it has no object");
    advance(11);
    await runDurableObjectAlarm(object);
    expect(await rowOf(id)).toMatchObject({ status: "succeeded" });
    expect(await usageOf(world)).toMatchObject([{ predictions: 2, failed: 0 }]);
    advance(30 * 86_400 + 3_700);
    await runDurableObjectAlarm(object);
    await keepUp(world.user_id);
    expect(await tablesOf(object)).toEqual([]);
  });

  test("is told of an end: the prediction tells it again", async () => {
    const world = await newWorld();
    const { id, channel } = await world.begun();
    const deaths = dieOnce("put", when);
    await channel.succeed("a");
    await eventually(() => expect(deaths.count).toBe(1));
    await eventually(async () => {
      await passes(11, id);
      expect(await rowOf(id)).toMatchObject({ status: "succeeded" });
    });
    expect(await usageOf(world)).toMatchObject([{ predictions: 1, failed: 0 }]);
  });

  test("is told of a removal: it is asked for again, and nothing is left", async () => {
    const world = await newWorld();
    const { id, channel } = await world.begun();
    await channel.succeed("a");
    await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
    const object = await objectOf(id);
    const deaths = dieOnce("put", when);
    advance(30 * 86_400 + 1);
    await runDurableObjectAlarm(object);
    expect(deaths.count).toBe(1);
    await passes(11, id);
    expect(await tablesOf(object)).toEqual([]);
    expect(await rowOf(id)).toMatchObject({ data_removed: 1 });
    expect(await usageOf(world)).toMatchObject([{ predictions: 1 }]);
  });
});
