/** The rows in D1: written late, twice or out of order, and repaired. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type ProjectionMessage, projectionMessage } from "../../../src/protocol/queue.ts";
import { eventually } from "../support/eventually.ts";
import { objectOf, rowOf, tablesOf } from "../support/objects.ts";
import { deliver, sweep } from "../support/queues.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

/** A prediction whose projections are lost, and the message that would be its row. */
async function unprojected() {
  vi.spyOn(env.PROJECTION, "send").mockRejectedValue(new Error("queue is down"));
  const world = await newWorld();
  const { id, channel } = await world.begun();
  const object = await objectOf(id);
  const message = async (): Promise<ProjectionMessage> =>
    projectionMessage.parse(await object.getRow());
  return { world, id, channel, object, message };
}

test("a message that comes twice or late changes nothing: the later revision stands", async () => {
  const { id, channel, message } = await unprojected();
  const started = await message();
  await channel.report([{ event: "metrics", data: { output_tokens: 3 } }], {
    status: "failed",
    output: "none",
    setup_seconds: 1.25,
    error: { source: "external", message: "boom", detail: { why: "x" } },
  });
  const failed = await message();
  expect(failed.revision).toBeGreaterThan(started.revision);
  await deliver("projection", failed);
  const row = await rowOf(id);
  expect(row).toMatchObject({ status: "failed", setup_time: 1.25, revision: failed.revision });
  expect(JSON.parse(row?.error ?? "")).toEqual({
    source: "external",
    message: "boom",
    detail: { why: "x" },
  });
  expect(JSON.parse(row?.metrics ?? "")).toEqual({ output_tokens: 3 });
  await deliver("projection", started, failed, started);
  expect(await rowOf(id)).toEqual(row);
});

test("one that is faster than create's own row is not overwritten by it", async () => {
  const { id, channel, message, world } = await unprojected();
  await channel.succeed("a");
  await env.DB.prepare("DELETE FROM predictions WHERE id = ?").bind(id).run();
  await deliver("projection", await message());
  expect(await rowOf(id)).toMatchObject({ status: "succeeded" });
  expect((await world.client.get(id)).output).toEqual(["a"]);
});

test("removal counts at the same revision, and is not taken back", async () => {
  const { id, channel, message } = await unprojected();
  await channel.succeed("a");
  const ended = await message();
  await deliver("projection", ended);
  expect(await rowOf(id)).toMatchObject({ data_removed: 0 });
  await deliver("projection", { ...ended, data_removed: true });
  expect(await rowOf(id)).toMatchObject({ data_removed: 1, status: "succeeded" });
  await deliver("projection", ended);
  expect(await rowOf(id)).toMatchObject({ data_removed: 1 });
});

test("an end and the removal of its data may come in one batch", async () => {
  const { id, channel, message } = await unprojected();
  await channel.succeed("a");
  const ended = await message();
  await deliver("projection", ended, { ...ended, data_removed: true });
  expect(await rowOf(id)).toMatchObject({ data_removed: 1, status: "succeeded" });
});

test("a hundred at once, and those that nobody understands are dropped", async () => {
  const { id, channel, message } = await unprojected();
  await channel.succeed("a");
  const one = await message();
  const others = Array.from({ length: 98 }, () => ({ ...one, id: crypto.randomUUID() }));
  const result = await deliver("projection", one, { hello: 1 }, ...others);
  expect(result.explicitAcks).toHaveLength(100);
  expect(await rowOf(id)).toMatchObject({ status: "succeeded" });
  for (const other of others) expect(await rowOf(other.id)).toMatchObject({ status: "succeeded" });
});

test("while D1 fails they are retried, and nothing is acknowledged", async () => {
  const { channel, message } = await unprojected();
  await channel.succeed("a");
  await env.DB.exec("ALTER TABLE predictions RENAME TO hidden");
  try {
    const result = await deliver("projection", await message());
    expect(result.explicitAcks).toEqual([]);
    expect(result.retryMessages).toMatchObject([{ msgId: "m0" }]);
  } finally {
    await env.DB.exec("ALTER TABLE hidden RENAME TO predictions");
  }
});

test("a projection that could not be sent is sent again by the object", async () => {
  const { id, channel, object } = await unprojected();
  await channel.succeed("a");
  expect(await rowOf(id)).toMatchObject({ status: "pending" });
  vi.restoreAllMocks();
  await passes(11, id);
  await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
  expect(await runDurableObjectAlarm(object)).toBe(true);
});

describe("the sweep", () => {
  test("repairs a row whose projection was lost for good", async () => {
    const { id, channel } = await unprojected();
    await channel.succeed("a");
    advance(299);
    await sweep();
    expect(await rowOf(id)).toMatchObject({ status: "pending" });
    advance(2);
    await sweep();
    expect(await rowOf(id)).toMatchObject({ status: "succeeded" });
  });

  test("leaves what goes on as it is, and asks again later", async () => {
    const { id, channel } = await unprojected();
    advance(301);
    await sweep();
    expect(await rowOf(id)).toMatchObject({ status: "started" });
    await channel.succeed("a");
    advance(301);
    await sweep();
    expect(await rowOf(id)).toMatchObject({ status: "succeeded" });
  });

  test("ends the row of a prediction that was never begun, and leaves no storage there", async () => {
    const { id, message } = await unprojected();
    const ghost = env.PREDICTION.newUniqueId();
    const orphan = { ...(await message()), id: crypto.randomUUID(), object_id: ghost.toString() };
    await deliver("projection", orphan);
    advance(301);
    await sweep();
    expect(await rowOf(orphan.id)).toMatchObject({ status: "failed" });
    expect(await tablesOf(env.PREDICTION.get(ghost))).toEqual([]);
    expect(await rowOf(id)).toMatchObject({ status: "started" });
  });
});
