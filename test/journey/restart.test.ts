/**
 * Nothing is lost when a runner is stopped, and when a control plane is killed with -9 and comes back with its
 * state. The tests share a deployment, and each begins with the runners that the one before has left.
 */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { Client } from "../../src/dev/client.ts";
import { pageOf } from "../../src/protocol/common.ts";
import { queueState } from "../../src/protocol/fleet.ts";
import { prediction, predictionWithIO } from "../../src/protocol/prediction.ts";
import type { Cable } from "../processes/cable.ts";
import { USERNAME } from "./support/access.ts";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

const body = { model: `${USERNAME}/hello`, input: { name: "Ada" } };
const headers = { prefer: "wait" };

let world: World;
let cable: Cable;

beforeAll(async () => {
  world = await World.open({
    variables: {
      // workerd comes back within the lease on any machine, so no runner is lost.
      LEASE_SECONDS: "60",
      // A runner that stops also ends its poll. A job handed to an abandoned poll would wait for ten minutes,
      // and fail the test.
      CONNECT_SECONDS: "600",
    },
  });
  cable = await world.cable();
});
afterAll(() => world.close());

const listed = async () =>
  (await world.client.call(pageOf(prediction), "GET", "/predictions")).items;

it("a short run has a row, too, when its caller leaves at once and the run lasts", async () => {
  const { url } = await world.relay();
  const leaver = new Client(url, world.access.token);
  const leaving = new AbortController();
  const creating = leaver.fetch("POST", "/predictions", { body, headers, signal: leaving.signal });
  const isWaiting = async () => {
    const { items } = await world.operator.call(pageOf(queueState), "GET", "/operator/queues");
    expect(items).toMatchObject([{ waiting: 1 }]);
  };
  await vi.waitFor(isWaiting, { interval: 10 });
  leaving.abort();
  await creating.catch(() => {});
  await vi.waitFor(async () => expect(await listed()).toMatchObject([{ status: "pending" }]));
  for (const { id } of await listed()) expect(await world.cancel(id)).toBe(202);
});

it("a runner that is stopped finishes running predictions and hands back those that have not begun", async () => {
  const first = await world.runner("first");
  const running = await world.create("gated", { before: ["a"], gate: "open", after: ["b"] });
  const starting = await world.create("slow", {});
  await running.first("output");
  await starting.until(({ data }) => JSON.stringify(data).includes("loading weights"));
  first.signal("SIGTERM");
  await first.says(/ draining /);
  const second = await world.runner("second", { url: cable.url });
  second.open("slow", "setup");
  const elsewhere = await endOf(world, starting, "succeeded");
  expect(elsewhere.output).toBe("ready at last");
  expect(starting.attempts).toHaveLength(2);
  expect(first.ended).toBe(false);
  first.open("gated", "open");
  const full = await endOf(world, running, "succeeded");
  expect(full.output).toEqual(["a", "b"]);
  await world.retire(first);
});

it("a killed control plane loses nothing of a running stream, also after an earlier break, and no short run that it has answered", async () => {
  const run = () => world.client.call(predictionWithIO, "POST", "/predictions", { body, headers });
  await run();
  const input = { max_tokens: 300, seed: 3, delay_ms: 40 };
  const watch = await world.create("text-generation", input);
  await watch.until(({ id }) => id > 15);
  cable.cut();
  await watch.until(({ id }) => id > 50);
  const runs = await Promise.all(Array.from({ length: 8 }, run));
  world.killControlPlane();
  const full = await endOf(world, watch, "succeeded");
  expect(watch.breaks).toBeGreaterThan(0);
  expect(full.output).toEqual(watch.dataOf("output"));
  const found = async () => {
    const again = await Promise.all(runs.map(({ id }) => world.get(id)));
    expect(again).toEqual(runs);
  };
  await vi.waitFor(found, { interval: 200 });
  const same = await world.create("text-generation", { ...input, delay_ms: 0 });
  expect((await endOf(world, same, "succeeded")).output).toEqual(full.output);
});

it("a killed control plane still knows the waiting predictions", async () => {
  await world.retireRunners();
  const waiting = await world.create("hello", { name: "survivor" });
  const watch = await world.create("gated", { gate: "open", after: ["done"] });
  world.killControlPlane();
  await watch.until(() => watch.breaks > 0);
  const runner = await world.runner("third");
  runner.open("gated", "open");
  await endOf(world, waiting, "succeeded");
  await endOf(world, watch, "succeeded");
});
