/** The core of the journeys on real containers, built from their own Dockerfiles and pulled by digest. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { docker } from "../docker/registry.ts";
import { dockerIsUp } from "../runner/support/containers.ts";
import { type Boxed, containersOf, openBoxed } from "./support/boxed.ts";
import { endOf } from "./support/end.ts";
import type { Runner } from "./support/runner.ts";
import type { World } from "./support/world.ts";

if (!dockerIsUp) console.log("Docker does not answer: the journeys of containers are left out.");

describe.runIf(dockerIsUp)("in containers", () => {
  let boxed: Boxed;
  let world: World;
  let runner: Runner;

  beforeAll(async () => {
    boxed = await openBoxed(["hello", "sums"]);
    world = boxed.world;
    runner = await world.runner("boxed");
  });

  afterEach(async () => {
    if (runner.ended) runner = await world.runner("boxed");
  });

  afterAll(() => boxed.close());

  it("a container is pulled and started, and runs a prediction", async () => {
    const watch = await world.create("hello", { name: "Ada" });
    const full = await endOf(world, watch, "succeeded");
    expect(full.output).toBe("Hello, Ada!");
    expect(JSON.stringify(watch.dataOf("setup"))).toMatch(/pulling.*starting.*ready/);
  });

  it("a prediction runs again elsewhere when its runner is killed, whose next process sweeps the leftovers", async () => {
    const watch = await world.create("sums", { numbers: [1, 2], mode: "slow", seconds: 1 });
    await watch.first("logs");
    const killed = runner;
    await killed.kill();
    expect(await containersOf(killed)).not.toEqual([]);
    runner = await world.runner("other");
    const full = await endOf(world, watch, "succeeded");
    expect(full.output).toMatchObject({ result: 3 });
    expect(watch.attempts).toHaveLength(2);
    const again = await world.runner("again", { name: killed.name });
    await vi.waitFor(async () => expect(await containersOf(killed)).toEqual([]));
    await world.retire(again);
    expect(await networksOf(killed)).toEqual([]);
  });

  it("a runner leaves no container and no network behind when it ends", async () => {
    await endOf(world, await world.create("hello", {}), "succeeded");
    expect(await containersOf(runner)).not.toEqual([]);
    await world.retire(runner);
    expect(await containersOf(runner)).toEqual([]);
    expect(await networksOf(runner)).toEqual([]);
  });
});

const networksOf = async ({ name }: Runner): Promise<string[]> =>
  (await docker("network", "ls", "--quiet", "--filter", `name=auspex-${name}`))
    .split("\n")
    .filter(Boolean);
