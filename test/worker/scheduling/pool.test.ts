/** The pool: the order of jobs, and runners that do not return. */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { claimResponse } from "../../../src/protocol/runner.ts";
import { eventually, pause } from "../support/eventually.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { lineOf, openPolls, pool } from "../support/pool.ts";
import { FakeRunner, quickSetups } from "../support/runner.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** Returns the key of the container that the user's runs of the model share. */
const containerKey = async (world: World) => (await world.begun()).job.keys.container;

test("jobs are handed out in turn among accounts, and in order within one", async () => {
  const world = await newWorld({ visibility: "public" });
  const stranger = await world.stranger();
  const mine: string[] = [];
  for (let n = 1; n <= 4; n++) {
    mine.push(await world.waiting());
    await lineOf(world, n);
  }
  const theirs = (await stranger.create({ model: world.model, input: {} })).body.id;
  await lineOf(world, 5);
  const order: string[] = [];
  // 20 slots are enough that no account reaches its share.
  const one = await world.runner(20);
  for (let n = 0; n < 5; n++) {
    const [job] = await one.claim({ free: 1 });
    order.push(job?.prediction_id ?? "none");
    if (job) await one.connect(job);
  }
  expect(order).toEqual([mine[0], theirs, mine[1], mine[2], mine[3]]);
});

test("a job that joins a line waits its turn", async () => {
  const world = await newWorld();
  const first = await world.waiting();
  await lineOf(world, 1);
  const second = await world.waiting();
  await lineOf(world, 2);
  expect((await (await world.runner()).take()).prediction_id).toBe(first);
  expect((await (await world.runner()).take()).prediction_id).toBe(second);
});

test("a job goes to a warm runner first, then to one that has the image", async () => {
  const world = await newWorld();
  const container = await containerKey(world);
  const [cold, image, warm] = [await world.runner(9), await world.runner(5), await world.runner(1)];
  const polls = [
    cold.claim(),
    image.claim({ images: [world.image] }),
    warm.claim({ warm: [container], images: [world.image], measured: quickSetups(container) }),
  ];
  await openPolls(world, 15);
  const ids = [await world.waiting(), await world.waiting(), await world.waiting()];
  // The warm runner has room for one job. The next one goes to the runner with the image.
  const [coldJobs, imageJobs, warmJobs] = await Promise.all(polls);
  expect([warmJobs, imageJobs, coldJobs].map((jobs) => jobs?.[0]?.prediction_id)).toEqual(ids);
});

test("a runner with room for six jobs gets six, each once", async () => {
  const world = await newWorld();
  const ids: string[] = [];
  for (let n = 1; n <= 6; n++) ids.push(await world.waiting());
  await lineOf(world, 6);
  const one = await world.runner(6);
  const got: string[] = [];
  while (got.length < 6)
    for (const job of await one.claim({ free: 6 - got.length })) {
      got.push(job.prediction_id);
      await one.connect(job);
    }
  expect(got.toSorted()).toEqual(ids.toSorted());
  expect((await pool(world).status()).waiting).toBe(0);
});

test("jobs that arrive between two polls are held for the runner that is expected back", async () => {
  const world = await newWorld();
  const one = await world.runner(3);
  const polling = one.take();
  await openPolls(world, 3);
  const first = await world.waiting();
  expect((await polling).prediction_id).toBe(first);
  const [second, third] = [await world.waiting(), await world.waiting()];
  const jobs = await one.claim({ free: 2 });
  expect(jobs.map((job) => [job.prediction_id, job.attempt])).toEqual([
    [second, 1],
    [third, 1],
  ]);
});

test("a runner that returns with less room gets the held jobs one by one", async () => {
  const world = await newWorld();
  const one = await world.runner(4);
  const polling = one.take();
  await openPolls(world, 4);
  await world.waiting();
  await polling;
  const held = [await world.waiting(), await world.waiting(), await world.waiting()];
  const got: string[] = [];
  for (let n = 0; n < 3; n++)
    got.push(...(await one.claim({ free: 1 })).map((job) => job.prediction_id));
  expect(got).toEqual(held);
});

test("a job that is held for a runner that does not return goes to another", async () => {
  const world = await newWorld();
  const lost = await world.runner(2);
  const polling = lost.take();
  await openPolls(world, 2);
  await world.waiting();
  await polling;
  advance(0.95);
  const id = await world.waiting();
  const other = (await world.runner()).take();
  expect(await other).toMatchObject({ prediction_id: id });
});

describe("a poll whose runner has gone", () => {
  test("a poll whose runner has gone gets no job, which waits for another runner", async () => {
    const world = await newWorld();
    const gone = new AbortController();
    const polling = (await world.runner()).poll({}, gone.signal).catch(() => "gone");
    await openPolls(world, 1);
    gone.abort();
    expect(await polling).toBe("gone");
    await openPolls(world, 0);
    const id = await world.waiting();
    expect((await (await world.runner()).take()).prediction_id).toBe(id);
  });

  test("a poll whose runner has gone does not delay another runner", async () => {
    const world = await newWorld();
    const gone = new AbortController();
    const dead = (await world.runner(5))
      .poll({ warm: [await containerKey(world)] }, gone.signal)
      .catch(() => "gone");
    await openPolls(world, 5);
    const living = (await world.runner()).take();
    await openPolls(world, 6);
    gone.abort();
    await dead;
    await openPolls(world, 1);
    const id = await world.waiting();
    expect((await living).prediction_id).toBe(id);
  });
});

describe("two processes under one name", () => {
  async function twoSessions() {
    const world = await newWorld();
    const begin = () => FakeRunner.begin(world.runnerToken, world.hardware, "twin", 2);
    const older = await begin();
    return { world, older, begin };
  }

  test("the later process of a name gets jobs, and the earlier one a 409", async () => {
    const { world, older, begin } = await twoSessions();
    const before = older.claim({ free: 1 });
    await openPolls(world, 1);
    const newer = await begin();
    expect(newer.id).toBe(older.id);
    const polling = newer.take();
    expect(await before).toEqual([]);
    const refused = await older.poll();
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({ type: "urn:auspex:session_superseded" });
    const id = await world.waiting();
    expect((await polling).prediction_id).toBe(id);
  });

  test("a job that was held for the earlier process goes to the later one", async () => {
    const { world, older, begin } = await twoSessions();
    const polling = older.claim({ free: 2 });
    await openPolls(world, 2);
    await world.waiting();
    await polling;
    const id = await world.waiting();
    expect((await (await begin()).take()).prediction_id).toBe(id);
  });
});

test("a poll is answered empty after 30 s, and a second one of the same session replaces the first", async () => {
  const world = await newWorld();
  const one = await world.runner();
  const first = one.claim();
  await openPolls(world, 1);
  const release = holdTimers(30_000);
  const second = one.poll();
  expect(await first).toEqual([]);
  await eventually(() => expect(release.count()).toBe(1));
  release();
  expect(claimResponse.parse(await (await second).json())).toEqual({ jobs: [] });
});

test("the line outlives the pool's memory, in its order", async () => {
  const world = await newWorld();
  const ids: string[] = [];
  for (let n = 1; n <= 3; n++) {
    ids.push(await world.waiting());
    await lineOf(world, n);
  }
  await evictDurableObject(pool(world));
  await lineOf(world, 3);
  for (const id of ids) expect((await (await world.runner()).take()).prediction_id).toBe(id);
});

test("a job that was cancelled while it waited is skipped", async () => {
  const world = await newWorld();
  const ids = [await world.waiting(), await world.waiting()];
  await lineOf(world, 2);
  // The pool does not receive the message that the prediction has ended.
  const withdraw = vi.spyOn(env.POOL, "getByName").mockImplementation(() => {
    throw new Error("pool is down");
  });
  await world.client.cancel(ids[0] ?? "");
  await pause(20);
  withdraw.mockRestore();
  expect((await (await world.runner()).take()).prediction_id).toBe(ids[1]);
  await lineOf(world, 0);
});

/** Makes a runner with room for one more job, which is expected back and has jobs held for it. */
async function aboutToBeBack(world: World) {
  const one = await world.runner(2);
  const polling = one.take();
  await openPolls(world, 2);
  await world.waiting();
  await polling;
  return one;
}

test("a job that is cancelled after its runner left does not stay in line", async () => {
  const world = await newWorld();
  const one = await aboutToBeBack(world);
  // The job is held for the runner that is expected back, which reports that it drains.
  const id = await world.waiting();
  await one.tell({ state: "draining" });
  await lineOf(world, 1);
  expect(await world.client.cancel(id)).toBe(202);
  await lineOf(world, 0);
});

test("a job that is cancelled while it is held for a runner is not put into line", async () => {
  const world = await newWorld();
  const one = await aboutToBeBack(world);
  const id = await world.waiting();
  expect(await world.client.cancel(id)).toBe(202);
  await eventually(async () => expect(await world.client.status(id)).toBe("canceled"));
  await one.tell({ state: "draining" });
  const next = await world.waiting();
  await lineOf(world, 1);
  expect((await (await world.runner()).take()).prediction_id).toBe(next);
});

test("an attempt that expires while it is held for a runner is replaced by a new one", async () => {
  const world = await newWorld();
  const one = await aboutToBeBack(world);
  const id = await world.waiting();
  await passes(5.1, id);
  const job = await one.take();
  expect(job.prediction_id).toBe(id);
  await (await one.connect(job)).succeed("a");
  expect(await world.client.status(id)).toBe("succeeded");
});
