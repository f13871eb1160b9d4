/** Idempotency keys: an account remembers them for 24 h, across midnight as well. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { eventsOf, named } from "../support/events.ts";
import { countRows, objectOf, tablesOf, textIn } from "../support/objects.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const key = (name: string) => ({ "idempotency-key": name });

async function createWith(world: World, name: string, input: object = { n: 1 }) {
  const { body, status } = await world.client.create({ model: world.model, input }, key(name));
  return { id: body.id, status };
}

test("the same key and body are the same prediction", async () => {
  const world = await newWorld();
  const first = await createWith(world, "k");
  expect(await createWith(world, "k")).toEqual(first);
  expect((await createWith(world, "other")).id).not.toBe(first.id);
  expect(await countRows(world.user_id)).toBe(2);
});

test("the same key and another body, or another model, are a 409", async () => {
  const world = await newWorld();
  await createWith(world, "k");
  for (const body of [
    { model: world.model, input: { n: 2 } },
    { model: `${world.model}:1`, input: { n: 1 } },
    { model: world.model, input: { n: 1 }, stream: true },
  ]) {
    const { status } = await world.client.refused("/v1/predictions", body, key("k"));
    expect(status).toBe(409);
  }
  expect(await countRows(world.user_id)).toBe(1);
});

test("twenty creates at once with one key are one prediction", async () => {
  const world = await newWorld();
  const all = await Promise.all(Array.from({ length: 20 }, () => createWith(world, "k")));
  expect(new Set(all.map(({ id }) => id)).size).toBe(1);
  expect(await countRows(world.user_id)).toBe(1);
  const [job, ...more] = await (await world.runner(5)).claim();
  expect([job?.prediction_id, more]).toEqual([all[0]?.id, []]);
});

test("a key belongs to its account", async () => {
  const world = await newWorld({ visibility: "public" });
  const stranger = await world.stranger();
  const theirs = await stranger.create({ model: world.model, input: { n: 1 } }, key("k"));
  expect((await createWith(world, "k")).id).not.toBe(theirs.body.id);
});

test("a key of yesterday is remembered until 24 h are over", async () => {
  vi.setSystemTime(Date.UTC(2036, 10, 20, 23, 50));
  const world = await newWorld();
  const first = await createWith(world, "k");
  advance(20 * 60);
  expect((await createWith(world, "k")).id).toBe(first.id);
  const { status } = await world.client.refused(
    "/v1/predictions",
    { model: world.model, input: {} },
    key("k"),
  );
  expect(status).toBe(409);
  advance(23.6 * 3_600);
  expect((await createWith(world, "k")).id).toBe(first.id);
  advance(0.1 * 3_600);
  const second = await createWith(world, "k");
  expect(second.id).not.toBe(first.id);
  expect((await createWith(world, "k")).id).toBe(second.id);
});

test("a repeat of a prediction that has ended answers its result", async () => {
  const world = await newWorld();
  const { id } = await createWith(world, "k");
  const { channel } = await (await world.runner()).work();
  await channel.succeed("a");
  expect(await createWith(world, "k")).toEqual({ id, status: 200 });
});

test("a repeat may have a wait or ask for a stream", async () => {
  const world = await newWorld();
  const body = { model: world.model, input: {}, stream: true };
  const first = await world.client.post("/v1/predictions", body, key("s"));
  await first.body?.cancel();
  const again = world.client.post("/v1/predictions", body, key("s"));
  const { channel } = await (await world.runner()).work();
  await channel.succeed("a");
  expect(named(await eventsOf(again), "output")).toEqual(["a"]);

  const { id } = await createWith(world, "w");
  const waiting = world.client.create(
    { model: world.model, input: { n: 1 } },
    { ...key("w"), prefer: "wait=9" },
  );
  await (await (await world.runner()).work()).channel.succeed("b");
  expect(await waiting).toMatchObject({ status: 200, body: { id, output: ["b"] } });
});

test("a key survives the end of the object's process", async () => {
  const world = await newWorld();
  const first = await createWith(world, "k");
  await abortAllDurableObjects();
  expect(await createWith(world, "k")).toEqual(first);
});

test.each(["DELETE", "the end of the retention"])(
  "a key after %s still names the same prediction, and nothing runs again",
  async (how) => {
    const world = await newWorld();
    const { client, model } = world;
    const request = { model, input: { secret: "of the input" }, retention_seconds: 60 };
    const { body } = await client.create(request, key("k"));
    const { channel } = await (await world.runner()).work();
    await channel.succeed("what came of it");
    if (how === "DELETE") await client.ok("DELETE", `/v1/predictions/${body.id}`);
    else await passes(61, body.id);
    const again = await client.create(request, key("k"));
    const gone = {
      id: body.id,
      status: "succeeded",
      input: null,
      output: null,
      data_removed: true,
    };
    expect(again.body).toMatchObject(gone);
    expect(await client.get(body.id)).toMatchObject(gone);
    expect(await countRows(world.user_id)).toBe(1);
    expect((await client.stream(body.id)).status).toBe(404);
    expect((await client.post("/v1/predictions", { ...request, stream: true })).status).toBe(200);
    expect(await client.cancel(body.id)).toBe(409);
    const stub = await objectOf(body.id);
    const kept = await textIn(stub);
    expect(kept).toContain(world.model.split("/")[0]);
    expect(kept).not.toContain("of the input");
    expect(kept).not.toContain("what came of it");
    // An object that was evicted finds the key as well.
    await abortAllDurableObjects();
    expect((await client.create(request, key("k"))).body).toMatchObject(gone);
    await passes(86_400, body.id);
    expect(await tablesOf(await objectOf(body.id))).toEqual([]);
    expect((await client.create(request, key("k"))).body.id).not.toBe(body.id);
    expect(await client.get(body.id)).toMatchObject(gone);
  },
);
