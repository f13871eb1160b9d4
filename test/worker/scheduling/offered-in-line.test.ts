/** A job that waits in line while its prediction offers it as well. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { WaitingJob } from "../../../src/protocol/queue.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { objectOf } from "../support/objects.ts";
import { lineOf, openPolls, pool } from "../support/pool.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** The time after which no job is held for a busy container. */
const HELD_SECONDS = 3_600;

const rowsOf = (world: World) =>
  runInDurableObject(pool(world), (_, { storage }) =>
    storage.sql
      .exec<WaitingJob & Record<string, SqlStorageValue>>("SELECT * FROM waiting")
      .toArray(),
  );

/** Makes a job that waits for the busy container of a full runner while another runner polls. */
async function heldJob() {
  const world = await newWorld();
  const busy = await world.runner();
  await world.waiting();
  const { keys, image, hardware, handout, ...job } = await busy.take();
  await busy.connect({ keys, image, hardware, handout, ...job });
  const container = readyContainer({
    key: keys.container,
    image: `${image.repository}@${image.digest}`,
    hardware: hardware.identifier,
    users: 1,
    idle_ms: null,
    runs_ms: [100],
  });
  await busy.tellState({ jobs: [handout], containers: [container], measured: [] });
  const polling = (await world.runner()).claim();
  await openPolls(world, 1);
  const id = await world.waiting();
  await lineOf(world, 1);
  const [row] = await rowsOf(world);
  const object = await objectOf(id);
  const offered = await object.openAttempt(undefined, row?.container_key ?? "");
  if (!row || !offered) throw new Error("The job does not wait");
  return { world, id, polling, offer: () => pool(world).offer(offered, row) };
}

test("a job leaves the line with an offer that a runner takes", async () => {
  const { world, id, polling, offer } = await heldJob();
  advance(HELD_SECONDS);
  expect(await offer()).toBe("taken");
  expect((await polling).map(({ prediction_id }) => prediction_id)).toEqual([id]);
  expect(await rowsOf(world)).toEqual([]);
});

test("a job keeps its place in the line when no runner takes its offer", async () => {
  const { world, offer } = await heldJob();
  expect(await offer()).toBe("none");
  expect((await pool(world).status()).waiting).toBe(1);
  expect(await rowsOf(world)).toHaveLength(1);
});
