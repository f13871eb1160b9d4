/**
 * Storage of a run that its caller waits for: its object stores everything at the end, or once the run lasts.
 */
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

/** Returns the object of the only prediction that `act` creates. */
async function objectOfOne<T>(act: () => Promise<T>) {
  const { result, objects } = await objectsOf(act);
  const [object] = objects;
  if (!object || objects.length > 1) throw new Error(`${objects.length} objects were made`);
  return { result, object };
}

/** A prediction that a runner has taken and has not reported on. */
const taken = (world: World) =>
  objectOfOne(async () => {
    const { runner, polling } = await waitingRunner(world);
    const creating = createWith(world);
    return { runner, creating, job: await polling };
  });

describe("a run that ends at once", () => {
  test("a short run is stored as one value, from which its object restores everything", async () => {
    const world = await newWorld();
    const { result, object } = await objectOfOne(() => shortRun(world));
    expect(await tablesOf(object)).toEqual(["request"]);
    const before = await eventsOf(world.client.stream(result.id));
    await abortAllDurableObjects();
    expect(await world.client.get(result.id)).toEqual(result);
    expect(await eventsOf(world.client.stream(result.id))).toEqual(before);
    expect(await eventsOf(world.client.stream(result.id, "?after_id=3"))).toEqual(before.slice(3));
  });

  test("a short run that is too large for one value is stored as several", async () => {
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

  test("a short run leaves nothing when its data is deleted, by hand or by retention", async () => {
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

describe("a run that lasts", () => {
  test("a run that lasts is stored after 250 ms, and its alarm is set", async () => {
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

  test("a run that lasts is stored with its first frame, and its alarm is set", async () => {
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

describe("a run whose object dies before it stored anything", () => {
  test("another object begins the run, and the runner of the first object is fenced", async () => {
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
