/** Short runs whose caller waits: the row that makes their ID known comes after the answer. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { Client } from "../../src/dev/client.ts";
import { pageOf } from "../../src/protocol/common.ts";
import { prediction, predictionWithIO } from "../../src/protocol/prediction.ts";
import { USERNAME } from "./support/access.ts";
import { World } from "./support/world.ts";

let world: World;

beforeAll(async () => {
  world = await World.open();
});
afterAll(() => world.close());

const body = { model: `${USERNAME}/hello`, input: { name: "Ada" } };
const headers = { prefer: "wait" };

const listed = async () =>
  (await world.client.call(pageOf(prediction), "GET", "/predictions")).items;

it("a short run has a row, too, when its caller leaves at once and the run lasts", async () => {
  const { url } = await world.relay();
  const leaver = new Client(url, world.access.token);
  const leaving = new AbortController();
  const creating = leaver.fetch("POST", "/predictions", { body, headers, signal: leaving.signal });
  await new Promise((resolve) => setTimeout(resolve, 100));
  leaving.abort();
  await creating.catch(() => {});
  await vi.waitFor(async () => expect(await listed()).toMatchObject([{ status: "pending" }]), {
    timeout: 3_000,
  });
  for (const { id } of await listed()) expect(await world.cancel(id)).toBe(202);
});

it("a short run is found after a kill between its answer and its row", async () => {
  await world.runner("one", { slots: 8 });
  const run = () => world.client.call(predictionWithIO, "POST", "/predictions", { body, headers });
  await run();
  const runs = await Promise.all(Array.from({ length: 8 }, run));
  world.killControlPlane();
  const found = async () => {
    const again = await Promise.all(runs.map(({ id }) => world.get(id)));
    expect(again).toEqual(runs);
  };
  await vi.waitFor(found, { interval: 200 });
});
