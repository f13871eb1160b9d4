/** Jobs that a runner declines: each goes to another runner, and no attempt is counted. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Job } from "../../../src/protocol/runner.ts";
import { eventsOf, named } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import type { FakeRunner, SnapshotChanges } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const status = (world: World) => env.POOL.getByName(world.hardware).status();
const lineOf = (world: World, waiting: number) =>
  eventually(async () => expect((await status(world)).waiting).toBe(waiting));

const REASON = "its memory is taken";

/** Declines a job in a snapshot, together with other changes. */
const decline = (runner: FakeRunner, { handout }: Job, changes: SnapshotChanges = {}) =>
  runner.tellState({ declined: [{ handout, reason: REASON }], ...changes });

/** Returns containers without a job, whose number is the change of a snapshot. */
const others = (count: number) => ({ warm: Array.from({ length: count }, (_, n) => `other ${n}`) });

test("a declined job goes to another runner, and its events do not show that", async () => {
  const world = await newWorld();
  const [one, other] = [await world.runner(), await world.runner()];
  const id = await world.waiting();
  await lineOf(world, 1);
  const first = await one.take();
  await decline(one, first);
  await lineOf(world, 1);
  const { job, channel } = await other.work();
  expect(job).toMatchObject({ prediction_id: id });
  expect(job.attempt).toBeGreaterThan(first.attempt);
  await expect(one.connect(first)).rejects.toThrow("409");
  await channel.succeed("a");
  expect(named(await eventsOf(world.client.stream(id)), "status")).toMatchObject([
    { status: "pending" },
    { status: "started", attempt: job.attempt },
    { status: "succeeded" },
  ]);
});

test("a declined job is offered to the same runner again after its next change", async () => {
  const world = await newWorld();
  const one = await world.runner(2);
  const id = await world.waiting();
  await lineOf(world, 1);
  await decline(one, await one.take());
  await lineOf(world, 1);
  const polling = one.take();
  await eventually(async () => expect((await status(world)).free).toBe(2));
  await lineOf(world, 1);
  await one.tellState(others(1));
  expect((await polling).prediction_id).toBe(id);
});

test("a prediction does not fail by being declined five times", async () => {
  const world = await newWorld();
  timersFollowClock();
  const one = await world.runner();
  const id = await world.waiting();
  await lineOf(world, 1);
  for (let n = 1; n <= 5; n++) {
    const job = await one.take();
    await decline(one, job, others(2 * n));
    await lineOf(world, 1);
    await one.tellState(others(2 * n + 1));
    advance(60);
  }
  const { channel } = await one.work();
  await channel.succeed("a");
  expect(await world.client.status(id)).toBe("succeeded");
});

test("a job that was cancelled while it was declined leaves the line", async () => {
  const world = await newWorld();
  const one = await world.runner();
  const id = await world.waiting();
  await lineOf(world, 1);
  const job = await one.take();
  await world.client.cancel(id);
  await decline(one, job, others(1));
  const next = await world.waiting();
  expect((await one.take()).prediction_id).toBe(next);
  await lineOf(world, 0);
});

test("only the runner that was handed a job can decline it, and only before it has connected", async () => {
  const world = await newWorld();
  const [one, other] = [await world.runner(), await world.runner()];
  const id = await world.waiting();
  await lineOf(world, 1);
  const job = await one.take();
  await decline(other, job);
  const channel = await one.connect(job);
  await one.tellState({ jobs: [job.handout] });
  await decline(one, job, { jobs: [job.handout] });
  await channel.succeed("a");
  expect(await world.client.status(id)).toBe("succeeded");
});
