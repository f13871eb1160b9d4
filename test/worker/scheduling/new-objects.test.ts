/**
 * A change of JURISDICTION, after which pools and runners have other objects, and running predictions go
 * on. workerd implements no jurisdictions, so another name stands for another place.
 */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { eventually } from "../support/eventually.ts";
import { FakeRunner } from "../support/runner.ts";
import { statusOf } from "../support/short-runs.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, operator, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

function moveObjects(): void {
  for (const namespace of [env.POOL, env.RUNNER] as DurableObjectNamespace[]) {
    const found = namespace.getByName.bind(namespace);
    vi.spyOn(namespace, "getByName").mockImplementation((name) => found(`${name} elsewhere`));
  }
}

const NAME = "rack-1";

const register = ({ runnerToken, hardware }: World) =>
  FakeRunner.begin(runnerToken, hardware, NAME);

const drainingOf = async ({ id }: FakeRunner) => {
  const { items } = await operator.ok<{ items: { id: string; draining: boolean }[] }>(
    "GET",
    "/v1/operator/runners?page_size=50",
  );
  return items.find((runner) => runner.id === id)?.draining;
};

test("a waiting job moves to the new pool by itself, and runs", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  await eventually(async () => expect((await statusOf(world)).waiting).toBe(1));
  moveObjects();
  expect((await statusOf(world)).waiting).toBe(0);
  await passes(30, id);
  await eventually(async () => expect((await statusOf(world)).waiting).toBe(1));
  const { job, channel } = await (await register(world)).work();
  expect(job.prediction_id).toBe(id);
  await channel.succeed("a");
  expect(await world.client.status(id)).toBe("succeeded");
});

test("a runner gets a 404 from new objects, registers again as the same one, and is not drained", async () => {
  const world = await newWorld();
  const runner = await register(world);
  await operator.ok("POST", `/v1/operator/runners/${runner.id}/drain`);
  moveObjects();
  expect((await runner.poll()).status).toBe(404);
  expect((await runner.tell()).status).toBe(404);
  const again = await register(world);
  expect(again.id).toBe(runner.id);
  expect(await drainingOf(again)).toBe(false);
});

test("a running prediction goes on to its end with new objects", async () => {
  const world = await newWorld();
  const { id, channel } = await world.begun();
  moveObjects();
  await channel.output("a");
  await channel.succeed("b");
  expect(await world.client.get(id)).toMatchObject({ status: "succeeded", output: ["a", "b"] });
});
