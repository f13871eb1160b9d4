/** Boxes with several GPUs: each container has its own, whatever else starts there. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { Client } from "../../src/dev/client.ts";
import { seed } from "../../src/dev/seed.ts";
import { expectNoneTwice, GpuWorld } from "./support/gpus.ts";

/** Seconds before a box is kept for a job that needs several GPUs. */
const RESERVE_SECONDS = 1;

/** Five models that share two GPUs. */
const MODELS = ["m0", "m1", "m2", "m3", "m4"];

let gpus: GpuWorld;

beforeAll(async () => {
  const single = { hardware: "l40s" } as const;
  const models = {
    one: single,
    four: { hardware: "l40s-x4" },
    own: { ...single, configuration: { isolation: "account" } },
    ...Object.fromEntries(MODELS.map((name) => [name, single])),
  } as const;
  gpus = await GpuWorld.open(models, { RESERVE_SECONDS: String(RESERVE_SECONDS) });
});
afterEach(() => gpus.world.retireAll());
afterAll(() => gpus.world.close());

const times = <T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => make(n)));

it("eight jobs on one GPU each and two on four GPUs each run on one box of eight", async () => {
  await gpus.box("eight", { gpus: 8 });
  const [singles, fours] = await Promise.all([
    times(8, () => gpus.world.create("one", { ms: 200 })),
    times(2, () => gpus.world.create("four", { ms: 200 })),
  ]);
  const runs = await Promise.all([
    ...singles.map((watch) => gpus.succeeds(watch, 1)),
    ...fours.map((watch) => gpus.succeeds(watch, 4)),
  ]);
  expectNoneTwice(runs);
});

it("a job that needs four GPUs runs in the midst of a flood of jobs that need one", async () => {
  await gpus.box("four", { gpus: 4 });
  const flood = await times(48, () => gpus.world.create("one", { ms: 500 }));
  const wide = await gpus.succeeds(await gpus.world.create("four", {}), 4);
  const singles = await Promise.all(flood.map((watch) => gpus.succeeds(watch, 1)));
  expectNoneTwice([wide, ...singles]);
  // About 10 of the 48 jobs run before the box is kept, 4 at a time.
  const after = singles.filter(({ began }) => began >= wide.ended);
  expect(after.length).toBeGreaterThan(16);
});

it("a box swaps more models than it has GPUs, and stops none that is in use", async () => {
  await gpus.box("two", { gpus: 2 });
  const order = [0, 0, 1, 2, 0, 3, 1, 4, 0, 2, 4, 4, 1, 3, 3, 0, 2, 1, 4, 0];
  const watches = await Promise.all(
    order.map((n) => gpus.world.create(MODELS[n] ?? "", { ms: 50 + 20 * n })),
  );
  const runs = await Promise.all(watches.map((watch) => gpus.succeeds(watch, 1)));
  expectNoneTwice(runs);
  const containers = new Set(runs.map(({ pid }) => pid));
  expect(containers.size).toBeGreaterThanOrEqual(MODELS.length);
});

it("two accounts that must be apart get a container each, with a GPU each", async () => {
  const { world } = gpus;
  await gpus.box("two", { gpus: 2 });
  const { token } = await seed(world.operator, "bob");
  const bob = new Client(world.access.url, token);
  const mine = await gpus.succeeds(await world.create("own", {}), 1);
  const theirs = await gpus.succeeds(await gpus.createFor(bob, "own"), 1);
  const again = await gpus.succeeds(await world.create("own", {}), 1);
  expect(theirs.pid).not.toBe(mine.pid);
  expect(theirs.gpus).not.toEqual(mine.gpus);
  expect(again.pid).toBe(mine.pid);
});
