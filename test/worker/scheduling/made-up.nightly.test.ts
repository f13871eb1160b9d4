/** A pool of which too many runners are stored. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test } from "vitest";
import { captureLog } from "../support/log.ts";
import { pool, restart } from "../support/pool.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const write = (world: World, ...statement: [string, ...string[]]) =>
  runInDurableObject(pool(world), (_, ctx) => void ctx.storage.sql.exec(...statement));

test("a pool that restarts reads only the latest of too many stored runners", async () => {
  const world = await newWorld();
  await world.waiting();
  const large = "{".padEnd(400_000);
  for (let n = 0; n < 50; n += 1)
    await write(
      world,
      "INSERT INTO runners (runner_id, reported_at, stored) VALUES (?, 9e15, ?)",
      `r${n}`,
      large,
    );
  const warnings = captureLog("warn");
  await restart(world);
  const job = await (await world.runner()).take();
  expect(job.attempt).toBeGreaterThan(0);
  expect(warnings.entries()).toHaveLength(40);
  warnings.mockRestore();
});
