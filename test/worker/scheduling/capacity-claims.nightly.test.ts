/** Claims of more deployments than a row of SQLite holds. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { claimedWorld, claimOf, containerOf, told } from "../support/capacity-claims.ts";
import { pool, restart } from "../support/pool.ts";
import { startClock, stopClock } from "../support/time.ts";

beforeEach(stopClock);
afterEach(startClock);

test("more claims than a row of SQLite can have survive a restart of the pool", async () => {
  const { world, runner, job } = await claimedWorld();
  const others = Array.from({ length: 12_000 }, (_, n) =>
    claimOf(world, job, {
      deployment_id: `other-${n}`,
      container_key: `${n}`.padStart(64, "0"),
      min: 0,
    }),
  );
  await pool(world).setCapacityClaims([...others, claimOf(world, job)]);
  await restart(world);
  expect(await told(runner, containerOf(world, job, "one"))).toEqual(["one"]);
  await pool(world).setCapacityClaims([]);
  await restart(world);
  expect((await told(runner, containerOf(world, job, "one"))) ?? []).toEqual([]);
});
