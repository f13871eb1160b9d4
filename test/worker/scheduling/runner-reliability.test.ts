/** Runners that get no jobs: drained, removed, with an invalid session, or set aside. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RunnerState } from "../../../src/protocol/fleet.ts";
import { claimResponse } from "../../../src/protocol/runner.ts";
import { eventually, pause } from "../support/eventually.ts";
import { revoke, setAside } from "../support/fleet.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { openPolls } from "../support/pool.ts";
import type { FakeRunner } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, operator, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const pool = (world: World) => env.POOL.getByName(world.hardware);
const free = (world: World, count: number) =>
  eventually(async () => expect((await pool(world).status()).free).toBe(count));
const waiting = (world: World, count: number) =>
  eventually(async () => expect((await pool(world).status()).waiting).toBe(count));

/** Ends the open poll of a runner as its pool does after 30 s. */
const leave = (world: World, { id, session }: FakeRunner) => pool(world).removeRunner(id, session);

describe("a drained runner", () => {
  test("a drained runner that polls gets no jobs until it is resumed", async () => {
    const world = await newWorld();
    const runner = await world.runner();
    await operator.ok("POST", `/v1/operator/runners/${runner.id}/drain`);
    const polling = runner.claim();
    const id = await world.waiting();
    await waiting(world, 1);
    await free(world, 0);
    await operator.ok("POST", `/v1/operator/runners/${runner.id}/resume`);
    expect((await polling).map((job) => job.prediction_id)).toEqual([id]);
  });

  test("a runner that is drained while a job is held for it does not get the job", async () => {
    const world = await newWorld();
    const runner = await world.runner(3);
    const polling = runner.take();
    await free(world, 3);
    await world.waiting();
    await polling;
    const held = await world.waiting();
    await operator.ok("POST", `/v1/operator/runners/${runner.id}/drain`);
    const again = runner.claim();
    await waiting(world, 1);
    const other = await world.runner();
    expect((await other.take()).prediction_id).toBe(held);
    await leave(world, runner);
    expect(await again).toEqual([]);
  });

  test("a drained runner gets no jobs from a pool that was restarted", async () => {
    const world = await newWorld();
    const runner = await world.runner();
    await operator.ok("POST", `/v1/operator/runners/${runner.id}/drain`);
    await runInDurableObject(pool(world), (_, ctx) => ctx.abort("restarted")).catch(() => {});
    const polling = runner.claim();
    await world.waiting();
    await waiting(world, 1);
    await leave(world, runner);
    expect(await polling).toEqual([]);
  });
});

test("a removed runner's open poll is answered without jobs", async () => {
  const world = await newWorld();
  const runner = await world.runner();
  const polling = runner.claim();
  await free(world, 1);
  advance(91);
  await operator.ok("DELETE", `/v1/operator/runners/${runner.id}`);
  expect(await polling).toEqual([]);
  await world.waiting();
  await waiting(world, 1);
});

test("a poll with an unknown session is a 404", async () => {
  const world = await newWorld();
  const runner = await world.runner();
  const later = runner.session.replace(/^......../, "ffffffff");
  expect((await runner.poll({ session: later })).status).toBe(404);
  const id = await world.waiting();
  expect((await runner.take()).prediction_id).toBe(id);
});

test("a poll ends when its token is revoked", async () => {
  const world = await newWorld();
  const runner = await world.runner();
  stopClock();
  timersFollowClock();
  const polling = runner.poll();
  await openPolls(world, 1);
  await revoke(world.runnerToken);
  advance(10.1);
  expect(claimResponse.parse(await (await polling).json())).toEqual({ jobs: [] });
  expect((await pool(world).status()).free).toBe(0);
});

describe("a runner that does not connect for its jobs", () => {
  test("a runner that does not connect gets no more jobs than it has slots", async () => {
    const world = await newWorld();
    const greedy = await world.runner(2);
    for (let n = 1; n <= 5; n++) {
      await world.waiting();
      await waiting(world, n);
    }
    const first = await greedy.claim({ free: 1_000 });
    const second = first.length < 2 ? await greedy.claim({ free: 1_000 }) : [];
    const jobs = [...first, ...second];
    expect(jobs).toHaveLength(2);
    const third = greedy.claim({ free: 1_000 });
    await pause(30);
    await waiting(world, 3);
    await leave(world, greedy);
    expect(await third).toEqual([]);
    // A connection for one job lets the runner get the next.
    const [heard] = jobs;
    if (heard) await greedy.connect(heard);
    expect(await greedy.claim({ free: 1_000 })).toHaveLength(1);
  });

  test("a runner that does not connect is set aside after a few jobs, as operators can see", async () => {
    const world = await newWorld();
    const idle = await setAside(world);
    const polling = idle.claim();
    await world.waiting();
    await waiting(world, 1);
    const until = new Date(Date.now() + 10_000).toISOString();
    const { items } = await operator.ok<{ items: { id: string }[] }>("GET", "/v1/operator/runners");
    const told = items.find((one) => one.id === idle.id);
    expect(told).toMatchObject({ set_aside_until: until });
    const other = await world.runner();
    await (await other.connect(await other.take())).succeed("a");
    await leave(world, idle);
    expect(await polling).toEqual([]);
    advance(10.1);
    const id = await world.waiting();
    expect((await idle.take()).prediction_id).toBe(id);
  });

  test("a runner that is set aside gets jobs after a resume, not after a drain", async () => {
    const world = await newWorld();
    const idle = await setAside(world);
    const polling = idle.claim();
    const id = await world.waiting();
    await waiting(world, 1);
    const path = `/v1/operator/runners/${idle.id}`;
    const drained = await operator.ok<RunnerState>("POST", `${path}/drain`);
    expect(drained.set_aside_until).not.toBeNull();
    const resumed = await operator.ok<RunnerState>("POST", `${path}/resume`);
    expect(resumed.set_aside_until).toBeNull();
    expect((await polling).map((job) => job.prediction_id)).toEqual([id]);
  });
});
