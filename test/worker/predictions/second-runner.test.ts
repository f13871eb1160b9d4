/** Silent runners: their job is also handed to a second runner, and the first to report keeps it. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventsOf, named } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { Channel } from "../support/runner.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** A job that one runner takes without a report, and a second runner with room. */
async function silent() {
  const world = await newWorld();
  const first = await world.runner();
  const polling = first.take();
  const free = (count: number) =>
    eventually(async () =>
      expect((await env.POOL.getByName(world.hardware).status()).free).toBe(count),
    );
  await free(1);
  const id = await world.waiting();
  const job = await polling;
  const second = await world.runner();
  const asked = second.take();
  await free(1);
  return { world, id, first, job, second, asked };
}

test("a second runner gets the job within about a second, under the next attempt number", async () => {
  const { world, id, job, second, asked, first } = await silent();
  await passes(0.9, id);
  await passes(0.2, id);
  const next = await asked;
  expect(next).toMatchObject({ prediction_id: id, attempt: job.attempt + 1 });
  const channel = await second.connect(next);
  expect((await Channel.request(first.client, job.lease)).status).toBe(409);
  await channel.succeed("mine");
  expect(await world.client.get(id)).toMatchObject({ status: "succeeded", output: ["mine"] });
  expect(named(await eventsOf(world.client.stream(id)), "status")).toMatchObject([
    { status: "pending" },
    { status: "started", attempt: next.attempt },
    { status: "succeeded" },
  ]);
});

test("the first runner keeps the job when it connects before the second", async () => {
  const { world, id, job, second, asked, first } = await silent();
  await passes(1.1, id);
  const next = await asked;
  const channel = await first.connect(job);
  expect((await Channel.request(second.client, next.lease)).status).toBe(409);
  await channel.output("a");
  await channel.succeed("b");
  expect(await world.client.get(id)).toMatchObject({ status: "succeeded", output: ["a", "b"] });
  // The second runner has room again at once, and is not set aside.
  const other = await world.waiting();
  expect((await second.take()).prediction_id).toBe(other);
});

test("a job without a second runner that has room waits 5 s for the first", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  const first = await world.runner();
  const job = await first.take();
  await passes(1.1, id);
  const channel = await first.connect(job);
  await channel.succeed("a");
  expect(await world.client.status(id)).toBe("succeeded");
});

test("a job that neither runner reported on is handed out again", async () => {
  const { world, id, asked } = await silent();
  await passes(1.1, id);
  const { attempt } = await asked;
  await passes(5.1, id);
  const third = await world.runner();
  const job = await third.take();
  expect(job).toMatchObject({ prediction_id: id, attempt: attempt + 1 });
  await (await third.connect(job)).succeed("a");
  expect(await world.client.status(id)).toBe("succeeded");
});
test("a job that nobody had room for after 1 s goes to a runner that has room a second later", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  const silent = await world.runner();
  const { attempt } = await silent.take();
  await passes(1.1, id);
  const other = await world.runner();
  const asked = other.take();
  await eventually(async () =>
    expect((await env.POOL.getByName(world.hardware).status()).free).toBe(1),
  );
  await passes(1.1, id);
  const job = await asked;
  expect(job.prediction_id).toBe(id);
  expect(job.attempt).toBeGreaterThan(attempt);
  await (await other.connect(job)).succeed("a");
  expect(await world.client.status(id)).toBe("succeeded");
});
