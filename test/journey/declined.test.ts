/** Jobs that a runner has no place for, though its pool thought so: they run elsewhere, or later. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { GpuWorld } from "./support/gpus.ts";
import type { Runner } from "./support/runner.ts";
import type { Watch } from "./support/watch.ts";

let gpus: GpuWorld;

beforeAll(async () => {
  gpus = await GpuWorld.open({ four: { hardware: "l40s-x4" }, none: { hardware: "l40s-cpu" } });
});
afterEach(() => gpus.world.retireAll());
afterAll(() => gpus.world.close());

/**
 * A box whose four GPUs are free, but not all of its memory: a container without GPUs has a quarter.
 * The pool counts GPUs, and hands it a job for all four.
 */
async function declined(): Promise<{ box: Runner; narrow: Watch; wide: Watch }> {
  const box = await gpus.box("declines", { gpus: 4 });
  const narrow = await gpus.world.create("none", { gate: "open" });
  await narrow.until(({ data }) => JSON.stringify(data).includes("started"));
  const wide = await gpus.world.create("four", {});
  await box.says(/ declined /);
  return { box, narrow, wide };
}

it("run elsewhere, at their first attempt for all that their caller sees", async () => {
  const { box, narrow, wide } = await declined();
  await gpus.box("other", { gpus: 4 });
  await gpus.succeeds(wide, 4);
  expect(wide.dataOf("status")).toMatchObject([
    { status: "pending" },
    { status: "started" },
    { status: "succeeded" },
  ]);
  box.open("none", "open");
  await gpus.succeeds(narrow, 0);
});

it("run there as soon as it has room", async () => {
  const { box, narrow, wide } = await declined();
  box.open("none", "open");
  await gpus.succeeds(narrow, 0);
  await gpus.succeeds(wide, 4);
});
