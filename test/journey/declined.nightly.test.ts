/** Jobs that a runner declines although its pool expected room: they run elsewhere, or later. */
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
 * Creates a box with four free GPUs whose memory is partly taken: a container without GPUs has a quarter. The
 * pool counts only GPUs, and hands the box a job for all four.
 */
async function declined(): Promise<{ box: Runner; narrow: Watch; wide: Watch }> {
  const box = await gpus.box("declines", { gpus: 4 });
  const narrow = await gpus.world.create("none", { gate: "open" });
  await narrow.until(({ data }) => JSON.stringify(data).includes("started"));
  const wide = await gpus.world.create("four", {});
  await box.says(/ declined /);
  return { box, narrow, wide };
}

it("declined jobs run elsewhere, and their caller sees only one attempt", async () => {
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

it("declined jobs run on the same box as soon as it has room", async () => {
  const { box, narrow, wide } = await declined();
  box.open("none", "open");
  await gpus.succeeds(narrow, 0);
  await gpus.succeeds(wide, 4);
});
