/** A runner that takes many jobs and connects for none. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Job } from "../../../src/protocol/runner.ts";
import { lineOf, openPolls, pool } from "../support/pool.ts";
import { FakeRunner, type SnapshotChanges } from "../support/runner.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, unique, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** Begins a runner that registers 1,000 slots. */
const boaster = ({ runnerToken, hardware }: World) =>
  FakeRunner.begin(runnerToken, hardware, unique("boaster"), 1_000);

const NONE: SnapshotChanges = { jobs: [] };

test("a new runner that takes jobs without connecting delays four jobs of eight by a second", async () => {
  const world = await newWorld();
  for (let n = 1; n <= 8; n++) await world.waiting();
  await lineOf(world, 8);
  const liar = await boaster(world);
  const hoarded: Job[] = [];
  while (hoarded.length < 4) hoarded.push(...(await liar.claim(NONE)));
  const polling = liar.poll(NONE);
  const healthy = await world.runner(8);
  const served = new Set<string>();
  const serve = async () => {
    for (const job of await healthy.claim({ free: 8 - served.size })) {
      served.add(job.prediction_id);
      await healthy.connect(job);
    }
  };
  while (served.size < 4) await serve();
  await lineOf(world, 0);
  for (let turn = 1; turn <= 5 && served.size < 8; turn++) {
    const late = hoarded.find(({ prediction_id }) => !served.has(prediction_id));
    const serving = serve();
    // An alarm that is due by now may go off by itself, and answers the poll.
    await Promise.race([serving, openPolls(world, 996 + 8 - served.size)]);
    if (late) await passes(1.1, late.prediction_id);
    await serving;
  }
  expect(served.size).toBe(8);
  await pool(world).removeRunner(liar.id, liar.session);
  await polling;
});

test("a runner that never connects for its jobs is set aside after three, and others get them", async () => {
  const world = await newWorld();
  const liar = await boaster(world);
  const id = await world.waiting();
  for (let n = 0; n < 3; n++) {
    await lineOf(world, 1);
    expect((await liar.take()).prediction_id).toBe(id);
    await passes(5.1, id);
  }
  await lineOf(world, 1);
  expect([...(await pool(world).suspendedRunners()).keys()]).toEqual([liar.id]);
  const polling = liar.poll(NONE);
  expect((await (await world.runner()).take()).prediction_id).toBe(id);
  await pool(world).removeRunner(liar.id, liar.session);
  await polling;
});
