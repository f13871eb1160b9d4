/** Many predictions on several runners, some of which are killed. */
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

/** Patience with a busy machine, which starts a process slowly. */
const BUSY = { timeout: 10_000 };

let world: World;

beforeAll(async () => {
  world = await World.open();
});
afterEach(() => world.retireAll());
afterAll(() => world.close());

it("twenty predictions reach their ends on three runners of which two are killed", async () => {
  const slots = { slots: 3 };
  const [first, second] = await Promise.all([
    world.runner("first", slots),
    world.runner("second", slots),
    world.runner("third", slots),
  ]);
  const requests = Array.from({ length: 20 }, (_, n) =>
    n % 4 === 3
      ? world.create("text-generation", { seed: n, max_tokens: 30, delay_ms: 30 })
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
    // A prediction that has begun to answer fails instead of answering twice.
    else if (status === "failed") expect(error?.source).toBe("internal");
    else expect(full.output).toEqual(watch.dataOf("output"));
  }
});
