/**
 * Faults of the account object: it dies at each step of a prediction, and nothing is lost, run or counted
 * twice.
 */
import { runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { eventually } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { inAccount, keepUp, objectOf, rowOf, tablesOf } from "../support/objects.ts";
import { createWith, objectsOf, reportTo, waitingRunner } from "../support/short-runs.ts";
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

/**
 * The account object dies at the next calls of this method, before it does anything or after it has done all.
 */
function die(method: "put" | "admit", when: When, times = Number.POSITIVE_INFINITY) {
  const { prototype } = AccountObject;
  const call = prototype[method];
  const deaths = { count: 0, rows: [] as unknown[] };
  Object.defineProperty(prototype, method, {
    configurable: true,
    writable: true,
    async value(this: AccountObject, ...args: unknown[]) {
      if (deaths.count >= times) return Reflect.apply(call, this, args);
      deaths.count += 1;
      deaths.rows.push(args.at(-1));
      if (when === "after it") await Reflect.apply(call, this, args);
      Reflect.get(this, "ctx").abort("it dies here");
    },
  });
  restore = () => void Object.assign(prototype, { [method]: call });
  return deaths;
}

const idOf = (row: unknown) =>
  typeof row === "object" && row !== null && "id" in row ? row.id : undefined;

const usageOf = async ({ user_id }: World) =>
  inAccount<{ predictions: number; failed: number }>(
    user_id,
    "SELECT coalesce(sum(predictions), 0) AS predictions, coalesce(sum(failed), 0) AS failed FROM usage",
  );

/** Returns the statuses of the account's predictions after its object has repaired their rows. */
async function statuses({ user_id }: World): Promise<string[]> {
  advance(301);
  await keepUp(user_id);
  const rows = await inAccount(user_id, "SELECT * FROM predictions");
  return rows.map(({ status }) => status).sort();
}

describe.each<When>(["before it", "after it"])("an account that dies %s", (when) => {
  test("a create whose first row meets the death is refused, and the next create runs", async () => {
    const world = await newWorld();
    await world.client.cancel(await world.waiting());
    const deaths = die("put", when);
    const refused = await world.client.refused("/v1/predictions", {
      model: world.model,
      input: {},
    });
    restore();
    expect(refused.status).toBe(503);
    expect(deaths.count).toBeGreaterThanOrEqual(4);
    const id = await world.waiting();
    const { job, channel } = await (await world.runner()).work();
    expect(job.prediction_id).toBe(id);
    await channel.succeed("a");
    await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
    // A first row that was written despite the refusal ends as `failed`, because no prediction belongs to it.
    const ended = (await statuses(world)).filter((status) => status !== "failed");
    expect(ended).toEqual(["canceled", "succeeded"]);
  });

  test.each(["put", "admit"] as const)(
    "the Worker repeats a %s that dies once, and the prediction runs as usual",
    async (method) => {
      const world = await newWorld();
      await world.client.cancel(await world.waiting());
      const deaths = die(method, when, 1);
      const headers: Record<string, string> = method === "admit" ? { "idempotency-key": "k" } : {};
      const id = await world.waiting({}, headers);
      expect(deaths.count).toBe(1);
      const { job, channel } = await (await world.runner()).work();
      expect(job.prediction_id).toBe(id);
      await channel.succeed("a");
      await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
      expect(await statuses(world)).toEqual(["canceled", "succeeded"]);
    },
  );

  test("a claim that meets the death can be repeated: its key runs one prediction", async () => {
    const world = await newWorld();
    const deaths = die("admit", when);
    const headers = { "idempotency-key": "k" };
    const body = { model: world.model, input: {} };
    const first = await world.client.json("POST", "/v1/predictions", body, headers);
    restore();
    expect([first.status, deaths.count]).toEqual([503, 4]);
    const again = await Promise.all([1, 2, 3].map(() => world.client.create(body, headers)));
    const ids = new Set(again.map(({ body }) => body.id));
    expect(ids.size).toBe(1);
    const jobs = await (await world.runner(5)).claim();
    expect(jobs.map(({ prediction_id }) => prediction_id)).toEqual([...ids]);
  });

  test("a short run answers with its result, and its row and the removal of its data follow", async () => {
    const world = await newWorld();
    await world.client.cancel(await world.waiting());
    await eventually(async () => expect(await usageOf(world)).toMatchObject([{ predictions: 1 }]));
    const deaths = die("put", when);
    const { runner, polling } = await waitingRunner(world);
    const { result, objects } = await objectsOf(async () => {
      const creating = createWith(world);
      await reportTo(runner, await polling);
      return (await creating).body;
    });
    restore();
    const { id, status, output } = result;
    expect([status, output]).toEqual(["succeeded", "hi"]);
    expect(deaths.count).toBeGreaterThan(0);
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

  test("a prediction sends its final row again after the account object died", async () => {
    const world = await newWorld();
    const { id, channel } = await world.begun();
    const deaths = die("put", when);
    await channel.succeed("a");
    await eventually(() => expect(deaths.count).toBeGreaterThanOrEqual(4));
    restore();
    await eventually(async () => {
      await passes(11, id);
      expect(await rowOf(id)).toMatchObject({ status: "succeeded" });
    });
    expect(await usageOf(world)).toMatchObject([{ predictions: 1, failed: 0 }]);
  });

  test("a prediction sends the removal of its data again, and nothing is left", async () => {
    const world = await newWorld();
    const { id, channel } = await world.begun();
    await channel.succeed("a");
    await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
    const object = await objectOf(id);
    const deaths = die("put", when);
    advance(30 * 86_400 + 1);
    await runDurableObjectAlarm(object);
    restore();
    // Predictions of other tests write rows as well when the clock moves by 30 days.
    expect(deaths.rows.filter((row) => idOf(row) === id)).toHaveLength(4);
    await passes(11, id);
    expect(await tablesOf(object)).toEqual([]);
    expect(await rowOf(id)).toMatchObject({ data_removed: 1 });
    expect(await usageOf(world)).toMatchObject([{ predictions: 1 }]);
  });
});
