/** A version's size, which the runner of its first run reports once. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Version } from "../../../src/protocol/model.ts";
import { sized } from "../../support/sized.ts";
import { eventually } from "../support/eventually.ts";
import { startClock, stopClock } from "../support/time.ts";
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

test("a version's size is set by the first run that reports it, and stays", async () => {
  const world = await newWorld();
  expect(await sizeOf(world)).toBe(0);
  expect(await run(world)).toBe(true);
  expect(await run(world, 8_123_456_789)).toBe(true);
  await eventually(async () => expect(await sizeOf(world)).toBe(8_123_456_789));
  await run(world, 5);
  const other = await newWorld();
  await run(other, 7);
  await eventually(async () => expect(await sizeOf(other)).toBe(7));
  expect(await sizeOf(world)).toBe(8_123_456_789);
});

const WRONG = [0, -1, 0.5, 1e14, "1000"];

test.each(WRONG.slice(0, sized(1, WRONG.length)))(
  "a version's size cannot be %j",
  async (image_bytes) => {
    const world = await newWorld();
    const { channel } = await world.begun();
    const finish = { status: "succeeded", output: "none", image_bytes };
    channel.send({ type: "events", seq: 2, events: [], finish });
    expect(await channel.closed).toMatchObject({ code: 4400 });
    expect(await sizeOf(world)).toBe(0);
  },
);
