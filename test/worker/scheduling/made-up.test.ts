/** Impossible reports of runners and unreadable rows, which must not stop a pool or affect other accounts. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test } from "vitest";
import { saved } from "../../../src/domain/scheduling/decide/pool-state.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import { eventually } from "../support/eventually.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { lineOf, pool, restart } from "../support/pool.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

/** The time after which a pool has written its estimates. */
const WRITTEN_SECONDS = 61;

beforeEach(stopClock);
afterEach(startClock);

const write = (world: World, ...statement: [string, ...string[]]) =>
  runInDurableObject(pool(world), (_, ctx) => void ctx.storage.sql.exec(...statement));

test.each([
  ["no JSON", "{"],
  ["of another shape", JSON.stringify({ claim: { runner_id: "r" }, reported_at: 1 })],
])("a stored runner that is %s is ignored until its next report", async (_, stored) => {
  const world = await newWorld();
  await world.waiting();
  await write(
    world,
    "INSERT INTO runners (runner_id, reported_at, stored) VALUES ('r', 9e15, ?)",
    stored,
  );
  await restart(world);
  const job = await (await world.runner()).take();
  expect(job.attempt).toBeGreaterThan(0);
});

test("estimates of another shape are learned again", async () => {
  const world = await newWorld();
  const runner = await world.runner();
  await write(
    world,
    "INSERT INTO estimates (id, estimates) VALUES (1, ?)",
    JSON.stringify({ estimates: { overall: {}, keys: [] }, demand: [] }),
  );
  await restart(world);
  await world.waiting();
  const job = await runner.take();
  await runner.connect(job);
  const told = await runner.tellState({ jobs: [job.handout], warm: [job.keys.container] });
  expect(told.status).toBe(200);
});

test("numbers of hand-outs stay unique, whatever number a runner reports", async () => {
  const world = await newWorld({ visibility: "public" });
  for (let n = 0; n < 3; n += 1) {
    const user = await world.stranger();
    await user.create({ model: world.model, input: {} });
    await lineOf(world, n + 1);
  }
  // 20 slots are enough although none of the jobs counts as received.
  const runner = await world.runner(20);
  const jobs: Job[] = [];
  while (jobs.length < 3) jobs.push(...(await runner.claim({ handed: Number.MAX_SAFE_INTEGER })));
  const numbers = jobs.map(({ handout }) => handout);
  expect(new Set(numbers).size).toBe(3);
  expect(numbers.every((number) => number < Date.now() + 86_400_000)).toBe(true);
});

test("a job that a runner both declines and runs is not offered to it again", async () => {
  const world = await newWorld();
  const runner = await world.runner(2);
  await world.waiting();
  await lineOf(world, 1);
  const { handout } = await runner.take();
  await runner.tellState({ jobs: [handout], declined: [{ handout, reason: "no" }] });
  await lineOf(world, 1);
  const polling = runner.claim();
  await eventually(async () => expect((await pool(world).status()).free).toBe(2));
  await runner.tell({ state: "stopped" });
  expect(await polling).toEqual([]);
});

test("a pool learns only times of keys that it handed out, up to a maximum", async () => {
  const world = await newWorld();
  timersFollowClock();
  const runner = await world.runner();
  await world.waiting();
  const { keys } = await runner.take();
  const year = 31_536_000_000;
  const measured = [keys.container, "invented"].map((key) => ({
    key,
    setup_ms: year,
    run_ms: year,
  }));
  await runner.tellState({ measured });
  advance(WRITTEN_SECONDS);
  const [row] = await eventually(async () => {
    const rows = await runInDurableObject(pool(world), (_, ctx) =>
      ctx.storage.sql.exec<{ estimates: string }>("SELECT estimates FROM estimates").toArray(),
    );
    expect(rows).toHaveLength(1);
    return rows;
  });
  const { estimates } = saved.parse(JSON.parse(row?.estimates ?? ""));
  expect(estimates.keys.map(([key]) => key)).toEqual([keys.container]);
  expect(estimates.overall.setup).toMatchObject({ count: 1, mean: 1_800_000 });
  expect(estimates.overall.run).toMatchObject({ count: 1, mean: 86_400_000 });
});
