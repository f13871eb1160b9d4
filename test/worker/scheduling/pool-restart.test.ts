import { afterEach, beforeEach, expect, test } from "vitest";
import type { Job } from "../../../src/protocol/runner.ts";
import type { Measured } from "../../../src/protocol/runner-state.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { eventually } from "../support/eventually.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { withoutAlarms } from "../support/objects.ts";
import { lineOf, pool, restart, storedRows } from "../support/pool.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

/** The time after which a pool has written its runners and estimates. */
const WRITTEN_SECONDS = 61;

beforeEach(stopClock);
afterEach(startClock);

const holdersOf = async (world: World, job: Job) =>
  (
    await pool(world).holders(
      { hardware: world.hardware, image: imageOf(job), container_key: job.keys.container },
      5,
    )
  ).runners;

const imageOf = ({ image: { repository, digest } }: Job) => `${repository}@${digest}`;

/** Makes a runner whose only container is busy with the world's model. */
async function busyWorld(measured: Omit<Measured, "key"> = {}) {
  const world = await newWorld();
  timersFollowClock();
  withoutAlarms();
  const runner = await world.runner();
  await world.waiting();
  const job = await runner.take();
  const { keys, hardware, handout } = job;
  await runner.connect(job);
  const container = readyContainer({
    key: keys.container,
    image: imageOf(job),
    hardware: hardware.identifier,
    users: 1,
    idle_ms: null,
    runs_ms: [100],
  });
  await runner.tellState({
    jobs: [handout],
    containers: [container],
    measured: [{ key: keys.container, ...measured }],
  });
  advance(WRITTEN_SECONDS);
  await eventually(async () => expect(await storedRows(world)).toEqual([1, 1]));
  return { world, runner, job, container };
}

test("a job waits for the container of a full runner after a restart of the pool", async () => {
  const { world, runner, container } = await busyWorld();
  await restart(world);
  const other = (await world.runner()).claim();
  await eventually(async () => expect((await pool(world).status()).free).toBe(1));
  const id = await world.waiting();
  await lineOf(world, 1);
  await runner.tellState({ jobs: [], containers: [{ ...container, users: 0, runs_ms: [] }] });
  expect((await runner.take()).prediction_id).toBe(id);
  await world.waiting();
  expect(await other).toHaveLength(1);
});

test("a job starts another container after a restart if runs take longer than setups", async () => {
  const { world } = await busyWorld({ setup_ms: 1_000, run_ms: 600_000 });
  await restart(world);
  const other = (await world.runner()).claim();
  await eventually(async () => expect((await pool(world).status()).free).toBe(1));
  const id = await world.waiting();
  expect((await other).map(({ prediction_id }) => prediction_id)).toEqual([id]);
});

test("a runner that is silent for 90 s after a restart of the pool is dropped", async () => {
  const { world, job, runner } = await busyWorld();
  await restart(world);
  await runner.tellState({ warm: [job.keys.container] });
  expect(await holdersOf(world, job)).toEqual([{ runner_id: runner.id, isWarm: true }]);
  await restart(world);
  advance(91);
  expect(await holdersOf(world, job)).toEqual([]);
});
