/** Deliveries of webhooks while a part of the service is down, hangs or is gone. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { settings } from "../../../src/env.ts";
import { newEndpoint } from "../support/endpoints.ts";
import { eventually } from "../support/eventually.ts";
import { keysBelow, storeValue } from "../support/files.ts";
import { objectOf, refuseRows, rowOf } from "../support/objects.ts";
import { addressOf, exchanged, freshPath, received, script } from "../support/receiver.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import {
  alarmOf,
  expectNoMoreThan,
  READY,
  redeliver,
  settled,
  told,
  type Watched,
  watched,
} from "../support/webhooks.ts";
import { newWorld } from "../support/world.ts";

const DOWN = new Error("it is down");
const UNREADY = { status: null, error: "the service could not prepare it" };
const { timeoutMs } = settings(env).webhooks;

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

/** Returns the seconds until the next attempt of the only delivery. */
async function nextTry({ client, id }: Pick<Watched, "client" | "id">): Promise<number> {
  const [event] = await settled(client, id, "pending");
  return (Date.parse(event?.deliveries[0]?.next_attempt_at ?? "") - Date.now()) / 1_000;
}

describe("attempts without an outcome", () => {
  /** Has the object die during an attempt, and wake when that counts as lost. Returns the seconds. */
  async function loseTry({ path, id }: Watched, tries: number): Promise<number> {
    await received(path, tries);
    await abortAllDurableObjects();
    const at = (await alarmOf(await objectOf(id))) ?? expect.fail("no alarm is set");
    const seconds = (at - Date.now()) / 1_000;
    await passes(seconds, id);
    return seconds;
  }

  test("attempts without an outcome do not count as failed", async () => {
    const one = await watched({ events: ["completed"] });
    const { client, path, id, channel } = one;
    const silent = Array<"silent">(5).fill("silent");
    await script(path, ...silent, { status: 503 }, { status: 200 });
    await channel.succeed("one");
    const waits: number[] = [];
    for (let lost = 1; lost <= 5; lost++) waits.push(await loseTry(one, lost));
    // The first wait is as long as an attempt can take. The others are those after failures.
    expect(waits).toEqual([25, 30, 120, 300, 900]);
    const next = await nextTry(one);
    expect(next).toBeGreaterThanOrEqual(4);
    expect(next).toBeLessThanOrEqual(6);
    await passes(6, id);
    const [event] = await settled(client, id, "delivered");
    expect(event?.deliveries[0]?.attempts.map(({ status }) => status)).toEqual([
      ...Array<null>(5).fill(null),
      503,
      200,
    ]);
    expect(new Set((await received(path)).map(({ body }) => body)).size).toBe(1);
  });

  test("a delivery without outcomes is given up after a day, and can be redelivered", async () => {
    const one = await watched({ events: ["completed"] });
    const { client, path, id, channel } = one;
    await script(path, ...Array<"silent">(11).fill("silent"), { status: 200 });
    await channel.succeed("one");
    let hours = 0;
    for (let lost = 1; lost <= 11; lost++) hours += (await loseTry(one, lost)) / 3_600;
    expect(Math.round(hours)).toBe(24);
    const [event] = await settled(client, id, "failed");
    expect(event?.deliveries[0]?.attempts).toHaveLength(11);
    await expectNoMoreThan(path, 11);
    await redeliver(client, id, event?.id);
    await passes(0, id);
    await settled(client, id, "delivered");
  });
});

describe("a hanging service", () => {
  /** Holds time limits that are set from now on. Returns a function that ends those of an object. */
  function holdLimits(): (id: string) => Promise<void> {
    const limits: (() => void)[] = [];
    const { setTimeout } = globalThis;
    vi.spyOn(globalThis, "setTimeout").mockImplementation((act: () => void, ms?: number) => {
      if (ms !== timeoutMs) return setTimeout(act, ms);
      limits.push(act);
      return 0;
    });
    return async (id) =>
      runInDurableObject(await objectOf(id), () => {
        for (const end of limits.splice(0)) end();
      });
  }

  const never = () => new Promise<never>(() => {});

  test("a delivery has one attempt at a time while R2 hangs, which fails at its time limit", async () => {
    const one = await watched({ events: ["completed"] });
    const { client, path, id, runner, job, channel } = one;
    await channel.report([await storeValue(runner, job, "v")]);
    const get = vi.spyOn(env.FILES, "get").mockImplementation(never);
    const endLimits = holdLimits();
    await channel.report([], { status: "succeeded", output: "value" });
    await eventually(() => expect(get).toHaveBeenCalledTimes(1));
    // The time is the longest that an attempt can take.
    await passes((2 * timeoutMs) / 1_000, id);
    expect(get).toHaveBeenCalledTimes(1);
    await settled(client, id, "under way");
    await endLimits(id);
    const [event] = await settled(client, id, "pending");
    expect(event?.deliveries[0]?.attempts).toMatchObject([UNREADY]);
    vi.restoreAllMocks();
    await passes(await nextTry(one), id);
    await settled(client, id, "delivered");
    expect((await told(path, 1))[0]?.output).toBe("v");
  });

  test("a delivery fails at its time limit while D1 hangs, and is tried again", async () => {
    const world = await newWorld();
    const { client } = world;
    const path = freshPath();
    await newEndpoint(client, { url: addressOf(path), events: ["completed"] });
    const { id, channel } = await world.begun();
    const prepare = env.DB.prepare.bind(env.DB);
    const asked = vi.fn(never);
    vi.spyOn(env.DB, "prepare").mockImplementation((sql) => {
      const statement = prepare(sql);
      // Only the first statement hangs, because the ledger reads the endpoint, too.
      if (!/webhook_endpoints/.test(sql) || asked.mock.calls.length > 0) return statement;
      return Object.assign(statement, { bind: () => Object.assign(statement, { raw: asked }) });
    });
    const endLimits = holdLimits();
    await channel.succeed();
    await eventually(() => expect(asked).toHaveBeenCalledTimes(1));
    await passes((2 * timeoutMs) / 1_000, id);
    await settled(client, id, "under way");
    await endLimits(id);
    const [event] = await settled(client, id, "pending");
    expect(event?.deliveries[0]?.attempts).toMatchObject([UNREADY]);
    vi.restoreAllMocks();
    await passes(await nextTry({ client, id }), id);
    await settled(client, id, "delivered");
    await told(path, 1);
  });
});

describe("an account object that is down", () => {
  test("webhooks are delivered and tried again while the account object is down", async () => {
    const one = await watched();
    const { client, path, id, channel } = one;
    refuseRows();
    await script(path, { status: 200 }, { status: 500 }, { status: 500 }, { status: 200 });
    await channel.report([READY]);
    await settled(client, id, "delivered");
    await channel.succeed("one");
    await settled(client, id, "delivered", "pending");
    for (const [tries, seconds] of [
      [2, 6],
      [3, 36],
    ] as const) {
      await passes(seconds, id);
      await exchanged(path, tries + 1);
    }
    await settled(client, id, "delivered", "delivered");
    expect(await rowOf(id)).not.toMatchObject({ status: "succeeded" });
  });
});

describe("R2", () => {
  test("R2 that is down at the end of retention delays no webhook", async () => {
    const one = await watched({ events: ["completed"], retention_seconds: 60 });
    const { client, path, id, runner, job, channel } = one;
    await script(path, { status: 500 }, { status: 500 }, { status: 200 });
    await channel.report([await storeValue(runner, job, "v".repeat(1_000))]);
    await channel.report([], { status: "succeeded", output: "value" });
    await passes(await nextTry(one), id);
    await exchanged(path, 2);
    vi.spyOn(env.FILES, "delete").mockRejectedValue(DOWN);
    await settled(client, id, "pending");
    await passes(61, id);
    await settled(client, id, "delivered");
    expect((await client.get(id)).data_removed).toBe(false);
  });

  test("R2 that is down at the end of retention is tried again every 10 s", async () => {
    const { client, id, runner, job, channel } = await watched({ retention_seconds: 60 });
    await channel.report([await storeValue(runner, job, "v".repeat(1_000))]);
    await channel.report([], { status: "succeeded", output: "value" });
    await settled(client, id, "delivered", "delivered");
    const down = vi.spyOn(env.FILES, "delete").mockRejectedValue(DOWN);
    const object = await objectOf(id);
    for (let tries = 1; tries <= 3; tries++) {
      await passes(tries === 1 ? 61 : 10, id);
      await eventually(() => expect(down).toHaveBeenCalledTimes(tries));
      expect(((await alarmOf(object)) ?? 0) - Date.now()).toBe(10_000);
    }
    down.mockRestore();
    await passes(10, id);
    expect(await client.get(id)).toMatchObject({ data_removed: true });
  });

  test("R2 that is down lets the delivery be tried again", async () => {
    const one = await watched({ events: ["completed"] });
    const { client, path, id, runner, job, channel } = one;
    await channel.report([await storeValue(runner, job, "v")]);
    const get = vi.spyOn(env.FILES, "get").mockRejectedValue(DOWN);
    await channel.report([], { status: "succeeded", output: "value" });
    const [event] = await settled(client, id, "pending");
    expect(event?.deliveries[0]?.attempts).toMatchObject([UNREADY]);
    await expectNoMoreThan(path, 0);
    get.mockRestore();
    await passes(await nextTry(one), id);
    await settled(client, id, "delivered");
    expect((await told(path, 1))[0]).toMatchObject({ output: "v", data_omitted: false });
  });

  test("R2 that loses a value after the end does not keep the webhook from being sent", async () => {
    const one = await watched({ events: ["completed"] });
    const { client, path, id, runner, job, channel } = one;
    await script(path, { status: 503 }, { status: 200 });
    await channel.report([await storeValue(runner, job, "v")]);
    await channel.report([], { status: "succeeded", output: "value" });
    await settled(client, id, "pending");
    for (const key of await keysBelow(id)) await env.FILES.delete(key);
    await passes(await nextTry(one), id);
    await settled(client, id, "delivered");
    expect((await told(path, 2))[1]).toMatchObject({
      status: "succeeded",
      input: { a: 1 },
      output: null,
      data_omitted: true,
      data_removed: false,
    });
  });
});
