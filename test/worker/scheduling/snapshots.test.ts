import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Job } from "../../../src/protocol/runner.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { eventually, pause } from "../support/eventually.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { lineOf, openPolls, pool } from "../support/pool.ts";
import type { FakeRunner } from "../support/runner.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

/** The time within which a runner is expected back after a response (src/objects/pool/connected-runners.ts). */
const RETURN_MS = 1_000;

beforeEach(stopClock);
afterEach(startClock);

test("a runner with an open poll gets a waiting job as soon as its snapshot has room", async () => {
  const world = await newWorld();
  const one = await world.runner();
  const polling = one.take();
  await openPolls(world, 1);
  expect((await one.tellState({ free: 0 })).body).toEqual({ wanted: false });
  await openPolls(world, 0);
  const id = await world.waiting();
  await lineOf(world, 1);
  expect((await one.tellState({ free: 0 })).body).toEqual({ wanted: true });
  expect((await one.tellState({ free: 1 })).body).toEqual({ wanted: false });
  expect((await polling).prediction_id).toBe(id);
});

test("a runner gets no job while the process before it has all slots", async () => {
  const world = await newWorld();
  const one = await world.runner();
  const polling = one.take();
  await openPolls(world, 1);
  await one.tellState({ slots: 0 });
  await openPolls(world, 0);
  const id = await world.waiting();
  await lineOf(world, 1);
  expect((await one.tellState({ slots: 0 })).body).toEqual({ wanted: true });
  await one.tellState({ slots: 1 });
  expect((await polling).prediction_id).toBe(id);
});

test("a snapshot that arrives late is ignored", async () => {
  const world = await newWorld();
  const one = await world.runner(2);
  const polling = one.take();
  await openPolls(world, 2);
  await one.tellState({ number: 7, free: 1 });
  await one.tellState({ number: 6, free: 0 });
  await openPolls(world, 1);
  const id = await world.waiting();
  expect((await polling).prediction_id).toBe(id);
});

test("a snapshot after its runner has left does not bring the runner back, but a poll does", async () => {
  const world = await newWorld();
  const one = await world.runner();
  const { keys, image } = await handed(world, one);
  const wanted = {
    hardware: world.hardware,
    image: `${image.repository}@${image.digest}`,
    container_key: keys.container,
  };
  const holders = async () => (await pool(world).holders(wanted, 5)).runners;
  await one.tellState({ warm: [keys.container] });
  expect(await holders()).toEqual([{ runner_id: one.id, isWarm: true }]);
  await one.tell({ state: "draining" });
  expect((await one.tellState({ warm: [keys.container] })).status).toBe(200);
  expect(await holders()).toEqual([]);
  const polling = one.claim({ warm: [keys.container] });
  await eventually(async () => expect(await holders()).toHaveLength(1));
  await one.tell({ state: "stopped" });
  expect(await polling).toEqual([]);
});

test("a hand-out that a snapshot has not seen stays counted, though its runner has connected for it", async () => {
  const world = await newWorld();
  const one = await world.runner();
  const job = await handed(world, one);
  await one.connect(job);
  const waiting = await world.waiting();
  await lineOf(world, 1);
  // This snapshot was taken before the job arrived, and sent after its receipt.
  const late = one.claim({ handed: 0, jobs: [] });
  await openPolls(world, 0);
  await lineOf(world, 1);
  await one.tellState({ jobs: [job.handout] });
  await lineOf(world, 1);
  await one.tellState({ jobs: [] });
  expect((await late).map(({ prediction_id }) => prediction_id)).toEqual([waiting]);
});

async function handed(world: World, runner: FakeRunner): Promise<Job> {
  const polling = runner.take();
  await openPolls(world, 1);
  await world.waiting();
  return polling;
}

describe("a full runner, which does not poll", () => {
  /** Makes the runner's container busy with the world's model. Returns the container's report. */
  async function full(world: World, runner: FakeRunner) {
    const { keys, image, hardware, handout } = await handed(world, runner).then(async (job) => {
      await runner.connect(job);
      return job;
    });
    const container = readyContainer({
      key: keys.container,
      image: `${image.repository}@${image.digest}`,
      hardware: hardware.identifier,
      users: 1,
      idle_ms: null,
      runs_ms: [100],
    });
    await runner.tellState({ jobs: [handout], containers: [container] });
    return container;
  }

  test("a job waits for a full runner's container instead of starting another", async () => {
    const world = await newWorld();
    const isGone = holdTimers(RETURN_MS);
    const one = await world.runner();
    const container = await full(world, one);
    isGone();
    await pause(20);
    const other = (await world.runner()).claim();
    await openPolls(world, 1);
    const id = await world.waiting();
    await lineOf(world, 1);
    // A run is expected to take 5 s, and a setup elsewhere 30 s.
    await one.tellState({ jobs: [], containers: [{ ...container, users: 0, runs_ms: [] }] });
    await lineOf(world, 0);
    expect((await one.take()).prediction_id).toBe(id);
    const next = await world.waiting();
    expect((await other).map(({ prediction_id }) => prediction_id)).toEqual([next]);
  });
});
