/** What its object stores of a run that is waited for: all of it at the end, or once it lasts. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventsOf } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { keepUp, objectOf, tablesOf } from "../support/objects.ts";
import {
  bodyOf,
  createWith,
  objectsOf,
  reportTo,
  shortRun,
  WAIT,
  waitingRunner,
} from "../support/short-runs.ts";
import { advance, startClock, stopClock, withoutTimers } from "../support/time.ts";
import { alarmOf } from "../support/webhooks.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const DAY = 86_400;

/** The object of the only prediction that is created meanwhile. */
async function objectOfOne<T>(act: () => Promise<T>) {
  const { result, objects } = await objectsOf(act);
  const [object] = objects;
  if (!object || objects.length > 1) throw new Error(`${objects.length} objects were made`);
  return { result, object };
}

/** A prediction that a runner has taken, and has not reported on. */
const taken = (world: World) =>
  objectOfOne(async () => {
    const { runner, polling } = await waitingRunner(world);
    const creating = createWith(world);
    return { runner, creating, job: await polling };
  });

describe("one that ends at once", () => {
  test("is one value, of which its object knows all after a restart", async () => {
    const world = await newWorld();
    const { result, object } = await objectOfOne(() => shortRun(world));
    expect(await tablesOf(object)).toEqual(["request"]);
    const before = await eventsOf(world.client.stream(result.id));
    await abortAllDurableObjects();
    expect(await world.client.get(result.id)).toEqual(result);
    expect(await eventsOf(world.client.stream(result.id))).toEqual(before);
    expect(await eventsOf(world.client.stream(result.id, "?after_id=3"))).toEqual(before.slice(3));
  });

  test("is several values when it is too large for one", async () => {
    const world = await newWorld();
    const input = { text: "x".repeat(600_000) };
    const output = "\u00e9".repeat(580_000);
    const { result, object } = await objectOfOne(async () => {
      const { runner, polling } = await waitingRunner(world);
      return withoutTimers(async () => {
        const creating = world.client.create({ ...bodyOf(world), input }, WAIT);
        const finish = { status: "succeeded", output: "value" };
        const events = [{ event: "output", data: output }];
        await reportTo(runner, await polling, { type: "events", seq: 1, events, finish });
        return (await creating).body;
      });
    });
    expect(await tablesOf(object)).toEqual(["log", "request"]);
    await abortAllDurableObjects();
    expect(await world.client.get(result.id)).toMatchObject({ input, output });
  });

  test("leaves nothing when its data is deleted, by hand or in time", async () => {
    const world = await newWorld();
    const [one, other] = [
      await objectOfOne(() => shortRun(world)),
      await objectOfOne(() => shortRun(world)),
    ];
    await world.client.ok("DELETE", `/v1/predictions/${one.result.id}`);
    await eventually(() => objectOf(other.result.id));
    await abortAllDurableObjects();
    advance(31 * DAY);
    await keepUp(world.user_id);
    for (const { object, result } of [one, other]) {
      expect(await tablesOf(object)).toEqual([]);
      expect(await alarmOf(object)).toBeNull();
      expect(await world.client.get(result.id)).toMatchObject({ output: null, data_removed: true });
    }
  });
});

describe("one that lasts", () => {
  test("is stored after 250 ms, and its alarm set", async () => {
    const world = await newWorld();
    const { result, object } = await withoutTimers(() => taken(world));
    expect([await tablesOf(object), await alarmOf(object)]).toEqual([[], null]);
    await reportTo(result.runner, result.job);
    await result.creating;

    const { result: longer, object: other } = await taken(world);
    await eventually(async () => expect(await tablesOf(other)).toEqual(["request"]));
    expect(await alarmOf(other)).toBeLessThanOrEqual(Date.now() + 2_000);
    await reportTo(longer.runner, longer.job);
    await longer.creating;
  });

  test("is stored with its first frame, and its alarm set", async () => {
    const world = await newWorld();
    await withoutTimers(async () => {
      const { result, object } = await taken(world);
      const channel = await result.runner.connect(result.job);
      expect(await tablesOf(object)).toEqual([]);
      await channel.report([{ event: "setup", data: { phase: "ready" } }]);
      expect(await tablesOf(object)).toEqual(["log", "request"]);
      expect(await alarmOf(object)).toBeGreaterThan(Date.now());
      await channel.succeed("a");
      expect((await result.creating).body.output).toEqual(["a"]);
    });
  });
});

describe("when its object dies before it has stored anything", () => {
  test("another one begins, and whoever worked for the first is fenced", async () => {
    const world = await newWorld();
    await withoutTimers(async () => {
      const { result } = await taken(world);
      const { runner, job, creating } = result;
      await abortAllDurableObjects();
      expect(await reportTo(runner, job)).toMatchObject({ type: "fenced" });
      const again = await world.runner();
      await reportTo(again, await again.take());
      expect((await creating).body).toMatchObject({ id: job.prediction_id, status: "succeeded" });
    });
  });
});
