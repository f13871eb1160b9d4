/** The channel: frames up and down, duplicates, gaps, breaks. */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test } from "vitest";
import { CLOSE } from "../../../src/protocol/channel.ts";
import { LEASE_HEADER } from "../../../src/protocol/runner.ts";
import { sized } from "../../support/sized.ts";
import type { Client } from "../support/client.ts";
import { eventsOf, named } from "../support/events.ts";
import { objectOf, tablesOf } from "../support/objects.ts";
import { Channel } from "../support/runner.ts";
import { startClock, withoutTimers } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

afterEach(startClock);

/** A prediction whose runner has reported once. */
async function begun() {
  const world = await newWorld();
  return { client: world.client, ...(await world.begun()) };
}

const output = (seq: number, ...values: string[]) => ({
  type: "events",
  seq,
  events: values.map((data) => ({ event: "output", data })),
});

const outputs = async (client: Client, id: string) =>
  named(await eventsOf(client.stream(id)), "output");

test("the first frame starts a prediction, the last one ends it, and each is acknowledged", async () => {
  const world = await newWorld();
  const { client } = world;
  const id = await world.waiting();
  const runner = await world.runner();
  const channel = await runner.connect(await runner.take());
  expect(channel.welcomed).toBe(0);
  expect(await client.status(id)).toBe("pending");
  await channel.report([]);
  expect(await client.status(id)).toBe("started");
  await channel.output("a");
  expect((await client.get(id)).output).toEqual(["a"]);
  await channel.succeed("b");
  expect(await client.get(id)).toMatchObject({ status: "succeeded", output: ["a", "b"] });
});

test("a run that ends before its first flush is one frame", async () => {
  const world = await newWorld();
  const { client } = world;
  const id = await world.waiting();
  const runner = await world.runner();
  const channel = await runner.connect(await runner.take());
  await channel.report([{ event: "output", data: { n: 1 } }], {
    status: "succeeded",
    output: "value",
  });
  expect(await client.get(id)).toMatchObject({ status: "succeeded", output: { n: 1 } });
  const events = await eventsOf(client.stream(id));
  expect(events.map(({ id: at, event }) => [at, event])).toEqual([
    [1, "status"],
    [2, "status"],
    [3, "output"],
    [4, "status"],
    [5, "done"],
  ]);
});

test("a frame that comes twice is kept once and acknowledged again", async () => {
  const { client, id, channel } = await begun();
  expect(await channel.exchange(output(2, "a"))).toMatchObject({ type: "ack", seq: 2 });
  expect(await channel.exchange(output(2, "a"))).toMatchObject({ type: "ack", seq: 2 });
  expect(await channel.exchange(output(1, "z"))).toMatchObject({ type: "ack", seq: 2 });
  await channel.exchange({ ...output(3), finish: { status: "succeeded", output: "items" } });
  expect(await outputs(client, id)).toEqual(["a"]);
});

test("a finish that comes twice is acknowledged again, also on a new connection", async () => {
  const { client, id, job, runner, channel } = await begun();
  const last = { ...output(2, "a"), finish: { status: "succeeded", output: "items" } };
  expect(await channel.exchange(last)).toMatchObject({ type: "ack", seq: 2 });
  expect(await channel.exchange(last)).toMatchObject({ type: "ack", seq: 2 });
  channel.close();
  const again = await runner.connect(job);
  expect(again.welcomed).toBe(2);
  expect(await client.status(id)).toBe("succeeded");
});

test("a gap closes the channel with its reason, and nothing is lost by a resend", async () => {
  const { client, id, job, runner, channel } = await begun();
  channel.send(output(3, "c"));
  expect(await channel.closed).toMatchObject({
    code: CLOSE.badFrame,
    reason: expect.stringContaining("frame 2"),
  });
  const again = await runner.connect(job);
  expect(again.welcomed).toBe(1);
  await again.output("b");
  await again.succeed("c");
  expect(await outputs(client, id)).toEqual(["b", "c"]);
});

describe("messages that are no frames", () => {
  const NO_FRAMES = [
    "not json",
    "null",
    "[]",
    { type: "hello" },
    { type: "events", seq: 2, events: [{ event: "status", data: { status: "succeeded" } }] },
    { type: "events", seq: 2, events: [{ event: "done", data: {} }] },
    { type: "events", seq: "2", events: [] },
  ];

  test.each(NO_FRAMES.slice(0, sized(2, NO_FRAMES.length)))(
    "the message %j closes the channel and changes nothing",
    async (frame) => {
      const { client, id, channel } = await begun();
      channel.send(frame);
      expect((await channel.closed).code).toBe(CLOSE.badFrame);
      expect(await client.status(id)).toBe("started");
    },
  );

  test("a binary message closes the channel and changes nothing", async () => {
    const { client, id, channel } = await begun();
    channel.socket.send(new TextEncoder().encode(JSON.stringify(output(2, "a"))));
    expect((await channel.closed).code).toBe(CLOSE.badFrame);
    expect((await client.get(id)).output).toBeNull();
  });
});

const VALUES = [
  ["nested too deep", "[".repeat(134) + "]".repeat(134), "nested too deep"],
  ["nested far too deep", "[".repeat(20_000) + "]".repeat(20_000), "nested too deep"],
  ["large and nested too deep", "[".repeat(50_000) + "]".repeat(50_000), "nested too deep"],
  ["10 MB of brackets", "[".repeat(10_000_000), "nested too deep"],
  ["of too many values", `[${"[],".repeat(3_000_000)}1]`, "more values"],
];

test.each(VALUES.slice(0, sized(1, VALUES.length)))(
  "a value that is %s ends the run, and says so",
  async (_, value, text) => {
    const { client, id, channel } = await begun();
    const frame = `{"type":"events","seq":2,"events":[{"event":"output","data":${value}}]}`;
    expect(await channel.exchange(frame)).toMatchObject({ type: "fenced" });
    const { status, output, error } = await client.get(id);
    expect({ status, output }).toEqual({ status: "failed", output: null });
    expect(error).toMatchObject({ message: expect.stringContaining(text) });
  },
);

test("the welcome after a break names the last stored frame, and the runner resends the rest", async () => {
  const { client, id, job, runner, channel } = await begun();
  await channel.output("a");
  channel.socket.close(1001, "gone");
  const again = await runner.connect(job);
  expect(again.welcomed).toBe(2);
  expect(await again.exchange(output(2, "a"))).toMatchObject({ type: "ack", seq: 2 });
  expect(await again.exchange(output(3, "b"))).toMatchObject({ type: "ack", seq: 3 });
  await again.exchange({ ...output(4), finish: { status: "succeeded", output: "items" } });
  expect(await outputs(client, id)).toEqual(["a", "b"]);
});

test("a runner that closes its channel is answered", async () => {
  const { channel } = await begun();
  await channel.succeed("a");
  channel.close();
  await channel.closed;
});

test("a second connection of the attempt takes over from the first", async () => {
  const { client, id, job, runner, channel } = await begun();
  const second = await runner.connect(job);
  expect((await channel.closed).code).toBe(CLOSE.replaced);
  await second.succeed("a");
  expect(await client.status(id)).toBe("succeeded");
});

test("an object that slept between two frames knows where it was", async () => {
  const { client, id, channel } = await withoutTimers(begun);
  await channel.output("a");
  await evictDurableObject(await objectOf(id), { webSockets: "hibernate" });
  await channel.output("b");
  await evictDurableObject(await objectOf(id), { webSockets: "hibernate" });
  expect(await channel.exchange(output(3, "b"))).toMatchObject({ type: "ack", seq: 3 });
  await channel.succeed("c");
  expect(await outputs(client, id)).toEqual(["a", "b", "c"]);
});

test("an object that was restarted takes the attempt up where it was", async () => {
  const { client, id, job, runner, channel } = await withoutTimers(begun);
  await channel.output("a");
  await evictDurableObject(await objectOf(id), { webSockets: "close" });
  const again = await runner.connect(job);
  expect(again.welcomed).toBe(2);
  await again.succeed("b");
  expect(await outputs(client, id)).toEqual(["a", "b"]);
});

describe("a hand-back", () => {
  test("a hand-back before output opens another attempt, which does not count", async () => {
    const { client, id, job: first, runner, channel } = await begun();
    channel.send({ type: "release", reason: "shutting down" });
    expect(await channel.next()).toMatchObject({ type: "fenced" });
    const { job, channel: second } = await runner.work();
    expect(job).toMatchObject({ prediction_id: id, attempt: first.attempt + 1 });
    await second.succeed("a");
    expect(await client.get(id)).toMatchObject({ status: "succeeded", output: ["a"] });
  });

  test("a hand-back after output fails the prediction: a second run would answer twice", async () => {
    const { client, id, channel } = await begun();
    await channel.output("a");
    channel.send({ type: "release", reason: "shutting down" });
    expect(await channel.next()).toMatchObject({ type: "fenced" });
    expect(await client.get(id)).toMatchObject({ status: "failed", error: { source: "internal" } });
  });
});

test("a first frame with more output than the limit leaves a log without a gap", async () => {
  const world = await newWorld();
  const { client } = world;
  const id = await world.waiting();
  const runner = await world.runner();
  const channel = await runner.connect(await runner.take());
  channel.send(output(1, "x".repeat(18 * 1024 * 1024)));
  expect(await channel.next()).toMatchObject({ type: "fenced" });
  const statuses = named(await eventsOf(client.stream(id)), "status");
  expect(statuses).toMatchObject([
    { status: "pending" },
    { status: "started" },
    { status: "failed" },
  ]);
});

test("a runner that stops a prediction without a cancel has failed it", async () => {
  const { client, id, channel } = await begun();
  await channel.report([], { status: "canceled", output: "none" });
  expect(await client.get(id)).toMatchObject({ status: "failed", error: { source: "internal" } });
});

describe("requests for a channel", () => {
  test("a wrong lease, or one of no prediction, opens no channel", async () => {
    const { client, id, job, runner, channel } = await begun();
    const [attempt, objectId, runnerId, proof] = job.lease.split(".");
    const leases = [
      ["", 404],
      ["garbage", 404],
      [`1.${"0".repeat(64)}.${runnerId}.${proof}`, 404],
      [`${attempt}.${objectId}.${runnerId}.${"0".repeat(64)}`, 409],
      [`${Number(attempt) + 1}.${objectId}.${runnerId}.${proof}`, 409],
    ] as const;
    for (const [lease, status] of leases) {
      const response = await Channel.request(runner.client, lease);
      expect([lease, response.status]).toEqual([lease, status]);
    }
    await channel.succeed("a");
    expect(await client.status(id)).toBe("succeeded");
  });

  test("a lease of an object that was never created opens no channel and stores nothing", async () => {
    const { job, runner } = await begun();
    const ghost = env.PREDICTION.newUniqueId();
    const lease = job.lease.replace(/[0-9a-f]{64}/, ghost.toString());
    expect((await Channel.request(runner.client, lease)).status).toBe(409);
    const headers = { [LEASE_HEADER]: lease };
    expect((await runner.client.fetch("/v1/runner/input", { headers })).status).toBe(404);
    expect(await tablesOf(env.PREDICTION.get(ghost))).toEqual([]);
  });

  test("a user's token, or none, opens no channel", async () => {
    const { client, job } = await begun();
    expect((await Channel.request(client, job.lease)).status).toBe(401);
  });

  test("a request without an upgrade opens no channel", async () => {
    const { job, runner } = await begun();
    const response = await runner.client.fetch("/v1/runner/channel", {
      headers: { "x-auspex-lease": job.lease },
    });
    expect(response.status).toBe(400);
  });
});
