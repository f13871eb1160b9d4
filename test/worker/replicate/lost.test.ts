/** Waiting callers and open streams of /replicate/v1 whose object is replaced, or whose runner is lost. */
import { afterEach, expect, test } from "vitest";
import { CHECK_MS } from "../../../src/objects/replacement-check.ts";
import type { ReplicatePrediction } from "../../../src/protocol/replicate.ts";
import { EventReader } from "../support/events.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { objectOf } from "../support/objects.ts";
import { cutOff } from "../support/replaced.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

afterEach(startClock);

const create = ({ client, model }: World, headers: Record<string, string> = {}) =>
  client.json<ReplicatePrediction>(
    "POST",
    `/replicate/v1/models/${model}/predictions`,
    { input: {} },
    headers,
  );

const read = ({ client }: World, id: string) =>
  client.ok<ReplicatePrediction>("GET", `/replicate/v1/predictions/${id}`);

test("a caller that waits for a replaced object is told `starting`, and the run goes on", async () => {
  const nextCheck = holdTimers(CHECK_MS);
  const world = await newWorld();
  const creating = create(world, { prefer: "wait=20" });
  const runner = await world.runner();
  const { job } = await runner.work();
  await cutOff(await objectOf(job.prediction_id));
  nextCheck();
  const { status, body } = await creating;
  expect([status, body]).toMatchObject([201, { id: job.prediction_id, status: "starting" }]);
  await (await runner.connect(job)).succeed("a");
  expect(await read(world, body.id)).toMatchObject({ status: "succeeded", output: ["a"] });
});

test("a stream whose object is replaced goes on with each output once", async () => {
  const nextCheck = holdTimers(CHECK_MS);
  const world = await newWorld();
  const { body } = await create(world);
  const runner = await world.runner();
  const { job, channel } = await runner.work();
  const response = await world.client.fetch(body.urls.stream ?? "");
  const reader = new EventReader(response.body);
  await channel.output("1");
  expect((await reader.next())?.data).toBe(1);
  await cutOff(await objectOf(body.id));
  nextCheck();
  await (await runner.connect(job)).succeed("2");
  expect(await reader.rest()).toMatchObject([{ event: "output", data: 2 }, { event: "done" }]);
});

test("a caller that waits while a runner is lost gets the output of the next runner", async () => {
  stopClock();
  const world = await newWorld();
  const creating = create(world, { prefer: "wait=60" });
  const { job } = await (await world.runner()).work();
  await passes(31, job.prediction_id);
  const { channel } = await (await world.runner()).work();
  await channel.succeed("a");
  expect((await creating).body).toMatchObject({ status: "succeeded", output: ["a"] });
});
