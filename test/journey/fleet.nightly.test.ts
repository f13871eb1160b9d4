/** Many predictions over several runners, of which some are killed. */
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

/** A machine that does something else besides takes its time to start a process. */
const BUSY = { timeout: 10_000 };

let world: World;

beforeAll(async () => {
  world = await World.open();
});
afterEach(() => world.retireAll());
afterAll(() => world.close());

it("brings twenty predictions to their ends over three runners of which two are killed", async () => {
  const slots = { slots: 3 };
  const [first, second] = await Promise.all([
    world.runner("first", slots),
    world.runner("second", slots),
    world.runner("third", slots),
  ]);
  const requests = Array.from({ length: 20 }, (_, n) =>
    n % 4 === 3
      ? world.create("story", { seed: n, max_tokens: 30, delay_ms: 30 })
      : world.create("sums", { numbers: [n], mode: "slow", seconds: 0.3 }),
  );
  const watches = await Promise.all(requests);
  await vi.waitFor(() => expect(first.processes()).not.toEqual([]), BUSY);
  await first.kill();
  await vi.waitFor(() => expect(second.processes()).not.toEqual([]), BUSY);
  await second.kill();
  await Promise.all(watches.map((watch) => watch.ended));
  for (const [n, watch] of watches.entries()) {
    const { status, error } = await world.get(watch.id);
    const full = await endOf(world, watch, status);
    if (n % 4 !== 3) expect(full).toMatchObject({ status: "succeeded", output: { result: n } });
    // What has begun to answer is not told twice.
    else if (status === "failed") expect(error?.source).toBe("internal");
    else expect(full.output).toEqual(watch.dataOf("output"));
  }
});
