/** A version's size that is known already. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Version } from "../../../src/protocol/model.ts";
import { eventually } from "../support/eventually.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const sizeOf = async ({ client, model }: World) =>
  (await client.json<Version>("GET", `/v1/models/${model}/versions/1`)).body.size;

/** Runs the version, with `image_bytes` as reported size. Returns whether the job asked for it. */
async function run(world: World, image_bytes?: number): Promise<boolean> {
  const { job, channel } = await world.begun();
  const told = image_bytes === undefined ? {} : { image_bytes };
  await channel.report([], { status: "succeeded", output: "none", ...told });
  return job.measure;
}

test("a version's size is not asked for once it is known, and then ignored", async () => {
  const world = await newWorld();
  await run(world, 1_000);
  await eventually(async () => expect(await sizeOf(world)).toBe(1_000));
  // Versions are cached for 10 s.
  advance(11);
  expect(await run(world, 2_000)).toBe(false);
  expect(await sizeOf(world)).toBe(1_000);
});
