/** An attempt that ends before its runner reported: the object still waits for the runner. */
import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Job } from "../../../src/protocol/runner.ts";
import { eventually } from "../support/eventually.ts";
import { objectOf, tablesOf } from "../support/objects.ts";
import { Channel, type FakeRunner } from "../support/runner.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { asideUntil, both, depth, free } from "../support/two-runners.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const refused = async (runner: FakeRunner, { lease }: Job) =>
  expect((await Channel.request(runner.client, lease)).status).toBe(409);

async function pair() {
  const world = await newWorld();
  const [first, second] = [await world.runner(), await world.runner()];
  return { world, first, second, ...(await both(world, first, second)) };
}

/** Expects the runner to get the next job: its slot is free again. */
async function hasRoom(world: World, runner: FakeRunner) {
  const polling = runner.claim();
  await free(world, 1);
  await env.POOL.getByName(world.hardware).removeRunner(runner.id, runner.session);
  expect(await polling).toEqual([]);
}

describe("a runner that a second one outruns", () => {
  test("a runner that connects a little later is never set aside, however often it happens", async () => {
    const world = await newWorld();
    const [first, second] = [await world.runner(), await world.runner()];
    for (let n = 0; n < 4; n++) {
      const { id, job, next } = await both(world, first, second);
      const channel = await second.connect(next);
      await refused(first, job);
      await channel.succeed();
      await passes(4.5, id);
    }
    expect(await asideUntil(first)).toBeNull();
  });

  test("a runner that reports its whole run a little later is not set aside", async () => {
    const { world, first, second, job, next } = await pair();
    await second.connect(next);
    const frame = {
      type: "events",
      seq: 1,
      events: [],
      finish: { status: "succeeded", output: "none" },
    };
    expect(await first.report(job.lease, frame)).toEqual({
      type: "fenced",
      reason: "the attempt has ended",
    });
    await hasRoom(world, first);
  });

  test("the slot of a runner is given away once it has connected, or after 5 s", async () => {
    for (const comes of [true, false]) {
      const { world, id, first, second, job, next } = await pair();
      const channel = await second.connect(next);
      const polling = first.claim();
      const other = await world.waiting();
      await eventually(async () => expect((await depth(world)).waiting).toBe(1));
      await channel.succeed();
      if (comes) await refused(first, job);
      else await passes(4, id);
      expect((await polling).map((one) => one.prediction_id)).toEqual([other]);
    }
  });
});

describe("a prediction that ends", () => {
  test("a runner that connects after a cancel has room again at once", async () => {
    const { world, id, first, second, job, next } = await pair();
    expect(await world.client.cancel(id)).toBe(202);
    await refused(second, next);
    expect(await (await Channel.open(first.client, job.lease)).next()).toMatchObject({
      type: "fenced",
      reason: "the prediction is canceled",
    });
    await hasRoom(world, first);
    await hasRoom(world, second);
  });

  test("a runner that never connects counts as silent, although the prediction was canceled", async () => {
    const world = await newWorld();
    const idle = await world.runner();
    for (let n = 0; n < 3; n++) {
      expect(await asideUntil(idle)).toBeNull();
      const id = await world.waiting();
      await idle.take();
      await world.client.cancel(id);
      await passes(4.9, id);
      await passes(0.2, id);
    }
    await eventually(async () => expect(await asideUntil(idle)).not.toBeNull());
  });

  test("a connected runner is not set aside, although the object has slept since", async () => {
    const world = await newWorld();
    const runner = await world.runner();
    for (let n = 0; n < 3; n++) {
      const id = await world.waiting();
      const channel = await runner.connect(await runner.take());
      await passes(6, id);
      await evictDurableObject(await objectOf(id), { webSockets: "hibernate" });
      await world.client.cancel(id);
      expect(await channel.next()).toMatchObject({ type: "fenced" });
      await passes(0, id);
    }
    expect(await asideUntil(runner)).toBeNull();
  });

  test("a removed prediction leaves nothing once its runners have connected, or have not", async () => {
    for (const comes of [true, false]) {
      const { world, id, first, second, job, next } = await pair();
      const object = await objectOf(id);
      await world.client.cancel(id);
      await world.client.ok("DELETE", `/v1/predictions/${id}`);
      if (comes) {
        await Channel.open(first.client, job.lease);
        await refused(second, next);
      } else {
        await passes(4, id);
        await passes(1.1, id);
      }
      await hasRoom(world, first);
      await hasRoom(world, second);
      await runDurableObjectAlarm(object);
      expect(await tablesOf(object)).toEqual([]);
    }
  });
});
