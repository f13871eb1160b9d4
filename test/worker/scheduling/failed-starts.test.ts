import { afterEach, beforeEach, expect, test } from "vitest";
import { shown } from "../support/fleet.ts";
import { lineOf, openPolls, pool } from "../support/pool.ts";
import type { FakeRunner } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, operator, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const REASON = "the disk of the runner's machine is full";

/** Takes the next job, and fails to start it. Returns the prediction's ID. */
async function failStart(broken: FakeRunner): Promise<string> {
  const job = await broken.take();
  const channel = await broken.connect(job);
  await channel.report([{ event: "setup", data: { phase: "pulling" } }]);
  channel.send({ type: "release", reason: REASON, start_failed: true });
  await channel.closed;
  return job.prediction_id;
}

/** Fails three starts of three predictions. */
async function failThree(world: World, broken: FakeRunner): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 1; n <= 3; n++) {
    const id = await world.waiting();
    expect(await failStart(broken)).toBe(id);
    ids.push(id);
    await lineOf(world, n);
  }
  return ids;
}

test("a start that the machine of a runner fails goes to another runner and succeeds there", async () => {
  const world = await newWorld();
  const broken = await world.runner();
  const id = await world.waiting();
  expect(await failStart(broken)).toBe(id);
  await lineOf(world, 1);
  // The broken runner has room, and is not asked again at once.
  const again = broken.claim();
  await openPolls(world, 1);
  await lineOf(world, 1);
  const { job, channel } = await (await world.runner()).work();
  expect(job.prediction_id).toBe(id);
  await channel.succeed("a");
  expect(await world.client.ok("GET", `/v1/predictions/${id}`)).toMatchObject({
    status: "succeeded",
  });
  await pool(world).removeRunner(broken.id, broken.session);
  expect(await again).toEqual([]);
});

test("a runner that fails three starts in a row is set aside with the reason, and tried again later", async () => {
  const world = await newWorld();
  const broken = await world.runner();
  const [id] = await failThree(world, broken);
  expect(await shown(broken.id)).toMatchObject({
    set_aside_until: new Date(Date.now() + 10_000).toISOString(),
    set_aside_reason: REASON,
    failed_starts: { times: 3, reason: REASON },
  });
  const polling = broken.claim();
  // The explanation says that the last runner of the class is set aside, without its name and reason.
  const { reason } = await world.client.ok<{ reason: { message: string } }>(
    "GET",
    `/v1/predictions/${id}/explain`,
  );
  expect(reason.message).toMatch(/All \S+ runners are paused .*\. Next retry in about 10 s\.$/);
  expect(reason.message).not.toContain(REASON);
  await pool(world).removeRunner(broken.id, broken.session);
  expect(await polling).toEqual([]);
  advance(20);
  expect(await broken.claim()).toHaveLength(1);
});

test("a container that starts resets its runner's failed starts", async () => {
  const world = await newWorld();
  const runner = await world.runner();
  await failThree(world, runner);
  await operator.ok("POST", `/v1/operator/runners/${runner.id}/resume`);
  expect(await shown(runner.id)).toMatchObject({ set_aside_until: null, failed_starts: null });
  await world.waiting();
  await failStart(runner);
  expect(await shown(runner.id)).toMatchObject({ failed_starts: { times: 1 } });
  await runner.tellState({ measured: [{ key: "any", setup_ms: 1_000 }] });
  expect(await shown(runner.id)).toMatchObject({ failed_starts: null });
});
