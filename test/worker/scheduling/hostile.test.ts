import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Job } from "../../../src/protocol/runner.ts";
import { MAX_REPORTED } from "../../../src/protocol/runner-state.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { lineOf, openPolls, pool } from "../support/pool.ts";
import { FakeRunner, type SnapshotChanges } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, unique, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** Begins a runner that registers 1,000 slots. */
const boaster = ({ runnerToken, hardware }: World) =>
  FakeRunner.begin(runnerToken, hardware, unique("boaster"), 1_000);

const NONE: SnapshotChanges = { jobs: [] };

test("a runner that claims more slots than it has registered gets no more", async () => {
  const world = await newWorld();
  const liar = await world.runner(2);
  for (let n = 1; n <= 4; n++) {
    await world.waiting();
    await lineOf(world, n);
  }
  const jobs: Job[] = [];
  while (jobs.length < 2) jobs.push(...(await liar.claim({ ...NONE, slots: 1_000 })));
  expect(jobs).toHaveLength(2);
  await lineOf(world, 2);
});

describe("a runner that declines everything with a changed state", () => {
  let changes = 0;

  /** Returns a snapshot with another number of containers each time. */
  const changed = (): SnapshotChanges => {
    changes += 1;
    return { warm: Array.from({ length: 1 + (changes % 7) }, (_, n) => `other ${n}`) };
  };

  const decline = (liar: FakeRunner, { handout }: Job) =>
    liar.tellState({ declined: [{ handout, reason: "no" }], ...NONE, ...changed() });

  test("a runner that declines a job is not asked again at once, and another gets the job", async () => {
    const world = await newWorld();
    const liar = await boaster(world);
    const id = await world.waiting();
    await lineOf(world, 1);
    for (let n = 0; n < 2; n++) {
      await decline(liar, await liar.take());
      await lineOf(world, 1);
    }
    const polling = liar.poll({ ...NONE, ...changed() });
    for (let n = 0; n < 20; n++) await liar.tellState({ ...NONE, ...changed() });
    await lineOf(world, 1);
    expect((await (await world.runner()).take()).prediction_id).toBe(id);
    await pool(world).removeRunner(liar.id, liar.session);
    await polling;
  });

  test("a runner that declines everything is set aside, and others get new jobs", async () => {
    const world = await newWorld();
    const liar = await boaster(world);
    for (let n = 1; n <= 6; n++) {
      const id = await world.waiting();
      const job = await liar.take();
      expect(job.prediction_id).toBe(id);
      await decline(liar, job);
      await world.client.cancel(id);
      await lineOf(world, 0);
      advance(5);
    }
    expect([...(await pool(world).suspendedRunners()).keys()]).toEqual([liar.id]);
    const polling = liar.poll({ ...NONE, ...changed() });
    const taking = (await world.runner()).take();
    await openPolls(world, 1);
    const id = await world.waiting();
    expect((await taking).prediction_id).toBe(id);
    await pool(world).removeRunner(liar.id, liar.session);
    await polling;
  });
});

test("measurements of keys that a runner had no job for are not learned", async () => {
  const world = await newWorld();
  const liar = await world.runner();
  for (let n = 0; n < 3; n++) {
    const measured = Array.from({ length: 200 }, (_, one) => ({
      key: `made up ${n} ${one}`,
      setup_ms: 1,
      run_ms: 31_536_000_000,
    }));
    expect((await liar.tellState({ measured })).status).toBe(200);
  }
  // A run is still expected to take seconds: a job waits for the only container, which is busy.
  const polling = liar.take();
  await openPolls(world, 1);
  await world.waiting();
  const job = await polling;
  await liar.connect(job);
  const { keys, handout, hardware } = job;
  const container = readyContainer({ key: keys.container, hardware: hardware.identifier });
  const busy = { ...container, users: 1, idle_ms: null, runs_ms: [1] };
  await liar.tellState({ jobs: [handout], containers: [busy] });
  const other = (await world.runner()).claim();
  await openPolls(world, 1);
  const id = await world.waiting();
  await lineOf(world, 1);
  await liar.tellState({ jobs: [], containers: [container] });
  expect((await liar.take()).prediction_id).toBe(id);
  await world.waiting();
  expect(await other).toHaveLength(1);
});

test("a report that is too large is refused, and other runners are served", async () => {
  const world = await newWorld();
  const large = { containers: Array.from({ length: MAX_REPORTED }, (_, n) => largeContainer(n)) };
  const liar = await boaster(world);
  expect((await liar.tellState()).status).toBe(200);
  for (const refused of [
    await liar.tellState(large),
    await (await boaster(world)).tellState(large),
  ]) {
    expect(refused.status).toBe(429);
    expect(JSON.stringify(refused.body)).toContain("reports more containers");
  }
  expect((await liar.poll(large)).status).toBe(429);
  expect((await pool(world).conditions()).size).toBe(1);
  const runner = await world.runner();
  const id = await world.waiting();
  await lineOf(world, 1);
  expect((await runner.take()).prediction_id).toBe(id);
});

const largeContainer = (n: number) =>
  readyContainer({
    name: `large ${n}`,
    image: "i".repeat(400),
    key: "k".repeat(64),
    idle_ms: null,
  });
