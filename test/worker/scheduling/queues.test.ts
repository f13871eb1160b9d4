/** The queues of hardware classes: waiting predictions, times and reasons. */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { QueueState } from "../../../src/protocol/fleet.ts";
import { pageAt } from "../support/catalogue.ts";
import { eventually } from "../support/eventually.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, operator, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

const pool = ({ hardware }: World) => env.POOL.getByName(hardware);

async function queueOf({ hardware }: World): Promise<QueueState | undefined> {
  const { items } = await pageAt<QueueState>(operator, "/v1/operator/queues?page_size=50");
  return items.find((queue) => queue.hardware === hardware);
}

const waits = (world: World, waiting: number) =>
  eventually(async () => expect(await queueOf(world)).toMatchObject({ waiting }));

const NO_WAITS = { oldest_wait_ms: null, median_wait_ms: null, reasons: [], accounts: [] };
const EMPTY = { waiting: 0, free: 0, ...NO_WAITS };

test("a queue of an unused class is empty", async () => {
  const world = await newWorld();
  expect(await queueOf(world)).toEqual({
    hardware: world.hardware,
    pool: world.hardware,
    ...EMPTY,
  });
});

test("a queue has its length, the oldest wait, and the median wait of jobs handed out", async () => {
  const world = await newWorld();
  for (let n = 1; n <= 3; n++) {
    await world.waiting();
    await waits(world, n);
    advance(10);
  }
  expect(await queueOf(world)).toMatchObject({ free: 0, oldest_wait_ms: 30_000 });
  // A job's row is gone when the next poll is answered.
  for (const left of [2, 1, 0]) {
    await (await world.runner()).take();
    await waits(world, left);
    expect((await queueOf(world))?.oldest_wait_ms).toBe(left === 0 ? null : left * 10_000);
  }
  expect((await queueOf(world))?.median_wait_ms).toBe(20_000);
});

test("a job that finds a waiting runner does not count towards the median wait", async () => {
  const world = await newWorld();
  await world.waiting();
  await waits(world, 1);
  advance(60);
  const one = await world.runner(150);
  await one.connect(await one.take());
  expect((await queueOf(world))?.median_wait_ms).toBe(60_000);
  const polling = one.claim();
  await eventually(async () => expect((await queueOf(world))?.free).toBe(150));
  await world.waiting();
  await world.waiting();
  expect((await polling).length).toBeGreaterThan(0);
  expect((await queueOf(world))?.median_wait_ms).toBe(60_000);
});

test("a job's wait counts from its arrival, also after the pool was evicted", async () => {
  const world = await newWorld();
  await world.waiting();
  await waits(world, 1);
  advance(10);
  await evictDurableObject(pool(world));
  advance(10);
  expect(await queueOf(world)).toMatchObject({ waiting: 1, oldest_wait_ms: 20_000 });
});

test("a queue has the reasons of waits, with advice", async () => {
  const world = await newWorld();
  await world.waiting();
  await waits(world, 1);
  const { hardware } = world;
  const reason = { waiting: 1, accounts: 1, runners: [] };
  expect((await queueOf(world))?.reasons).toEqual([
    {
      ...reason,
      code: "no_runner",
      message: `1 prediction queued. No ${hardware} runners online. Start one or resume a draining runner.`,
    },
  ]);
  const full = await world.runner();
  await full.tellState({ free: 0 });
  expect((await queueOf(world))?.reasons).toEqual([
    {
      ...reason,
      code: "busy",
      message: "1 prediction queued. The only runner is busy. Add a runner to shorten the wait.",
    },
  ]);
});

test("a queue whose pool fails has nulls, and other queues have their numbers", async () => {
  const [lost, other] = [await newWorld(), await newWorld()];
  await lost.waiting();
  await waits(lost, 1);
  const stubOf = env.POOL.getByName.bind(env.POOL);
  vi.spyOn(env.POOL, "getByName").mockImplementation((name) =>
    name === lost.hardware
      ? Object.assign(stubOf(name), {
          status: async () => {
            throw new Error("gone");
          },
        })
      : stubOf(name),
  );
  expect(await queueOf(lost)).toEqual({
    hardware: lost.hardware,
    pool: lost.hardware,
    waiting: null,
    free: null,
    oldest_wait_ms: null,
    median_wait_ms: null,
    reasons: [],
    accounts: [],
  });
  expect(await queueOf(other)).toEqual({
    hardware: other.hardware,
    pool: other.hardware,
    ...EMPTY,
  });
});
