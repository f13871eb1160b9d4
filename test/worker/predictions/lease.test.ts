/** Attempts that are lost: leases, grace, fencing. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CLOSE } from "../../../src/protocol/channel.ts";
import { eventsOf, named } from "../support/events.ts";
import { objectOf } from "../support/objects.ts";
import { Channel } from "../support/runner.ts";
import { advance, passes, startClock, stopClock, withoutTimers } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** A prediction whose runner has been heard once. */
async function begun() {
  const world = await newWorld();
  return { world, client: world.client, ...(await world.begun()) };
}

describe("a runner that is not heard for 30 s", () => {
  test("before output: another attempt, and the old one is fenced", async () => {
    const { client, id, job, channel, runner } = await begun();
    await passes(29, id);
    expect(channel.socket.readyState).toBe(WebSocket.OPEN);
    await passes(2, id);
    expect(await channel.next()).toMatchObject({ type: "fenced" });
    expect((await channel.closed).code).toBe(CLOSE.fenced);
    const second = await runner.work();
    expect(second.job).toMatchObject({ prediction_id: id, attempt: job.attempt + 1 });
    await second.channel.succeed("a");
    const statuses = named(await eventsOf(client.stream(id)), "status");
    expect(statuses).toMatchObject([
      { status: "pending" },
      { status: "started", attempt: job.attempt },
      { status: "started", lost: job.attempt },
      { status: "started", attempt: job.attempt + 1 },
      { status: "succeeded" },
    ]);
  });

  test("before output: the next attempt has the whole limit of logs again", async () => {
    const { client, id, channel, runner } = await begun();
    const sixMegabytes = async (of: Channel) => {
      const logs = { event: "logs", data: "x".repeat(500_000) } as const;
      for (let times = 0; times < 12; times++) await of.report([logs]);
    };
    await sixMegabytes(channel);
    await passes(31, id);
    const second = await runner.work();
    await sixMegabytes(second.channel);
    await second.channel.succeed("a");
    expect(await client.status(id)).toBe("succeeded");
  });

  test("after output: it has failed, for another run would answer twice", async () => {
    const { client, id, channel } = await begun();
    await channel.output("a");
    await passes(31, id);
    expect(await client.get(id)).toMatchObject({
      status: "failed",
      error: { source: "internal" },
      output: ["a"],
    });
    expect(await channel.next()).toMatchObject({ type: "fenced" });
  });

  test("three times in turn: it has failed", async () => {
    const { world, client, id } = await begun();
    for (let lost = 1; lost < 3; lost++) {
      await passes(31, id);
      expect(await client.status(id)).toBe("started");
      await (await world.runner()).work();
    }
    await passes(31, id);
    expect(await client.get(id)).toMatchObject({ status: "failed", error: { source: "internal" } });
  });

  test("with a cancel recorded: it is canceled and never run again", async () => {
    const { client, id } = await begun();
    expect(await client.cancel(id)).toBe(202);
    await passes(31, id);
    expect(await client.status(id)).toBe("canceled");
  });
});

test("pings keep the lease without waking the object", async () => {
  vi.setSystemTime(Date.now() - 60_000);
  const { client, id, channel } = await begun();
  const silent = await begun();
  // The platform stamps a ping with its own clock, which is now the test's again.
  vi.setSystemTime(Date.now() + 60_000);
  const pong = new Promise((resolve) =>
    channel.socket.addEventListener("message", ({ data }) => resolve(data)),
  );
  channel.send("ping");
  expect(await pong).toBe("pong");
  await passes(0, id);
  await passes(0, silent.id);
  await channel.succeed("a");
  expect(await client.status(id)).toBe("succeeded");
  expect(await silent.channel.next()).toMatchObject({ type: "fenced" });
});

describe("a zombie that comes back after its lease", () => {
  test("is refused its late frames, under way on the old channel or on a new one", async () => {
    const { client, id, job, runner } = await begun();
    const object = await objectOf(id);
    const server = await runInDurableObject(object, (_, ctx) => ctx.getWebSockets()[0]);
    await passes(31, id);
    const second = await runner.work();
    expect((await Channel.request(runner.client, job.lease)).status).toBe(409);
    const late = JSON.stringify({
      type: "events",
      seq: 2,
      events: [{ event: "output", data: "late" }],
    });
    await runInDurableObject(
      object,
      (prediction) => server && prediction.webSocketMessage(server, late),
    );
    await second.channel.succeed("right");
    expect((await client.get(id)).output).toEqual(["right"]);
    expect(named(await eventsOf(client.stream(id)), "output")).toEqual(["right"]);
  });

  test("is refused its input", async () => {
    const { id, job, runner } = await begun();
    const read = () =>
      runner.client.fetch("/v1/runner/input", { headers: { "x-auspex-lease": job.lease } });
    expect((await read()).status).toBe(200);
    await passes(31, id);
    expect((await read()).status).toBe(404);
  });
});

describe("an object that was restarted, and the channel with it", () => {
  test("gives the runner 10 s to come back, when its lease would be over", async () => {
    const { client, id, job, runner, channel } = await withoutTimers(begun);
    await channel.output("a");
    await evictDurableObject(await objectOf(id), { webSockets: "close" });
    await passes(31, id);
    expect(await client.status(id)).toBe("started");
    const again = await runner.connect(job);
    await again.succeed("b");
    expect(await client.get(id)).toMatchObject({ status: "succeeded", output: ["a", "b"] });
  });

  test("also when a channel had broken before and was replaced in time", async () => {
    const { client, id, job, runner, channel } = await withoutTimers(begun);
    const again = await runner.connect(job);
    // Only now it is seen that the first is gone.
    channel.socket.close(1000);
    await channel.closed;
    await again.output("a");
    await passes(29, id);
    await again.output("b");
    await evictDurableObject(await objectOf(id), { webSockets: "close" });
    await passes(9, id);
    expect(await client.status(id)).toBe("started");
    await (await runner.connect(job)).succeed("c");
    expect(await client.get(id)).toMatchObject({ status: "succeeded", output: ["a", "b", "c"] });
  });

  test("and no longer", async () => {
    const { client, id, channel } = await withoutTimers(begun);
    await channel.output("a");
    await evictDurableObject(await objectOf(id), { webSockets: "close" });
    await passes(31, id);
    await passes(9, id);
    expect(await client.status(id)).toBe("started");
    await passes(2, id);
    expect(await client.status(id)).toBe("failed");
  });

  test("or what is left of its lease since it last said something", async () => {
    const { client, id, channel } = await withoutTimers(begun);
    for (const value of ["a", "b"]) {
      advance(20);
      await channel.output(value);
    }
    await evictDurableObject(await objectOf(id), { webSockets: "close" });
    await passes(5, id);
    await passes(24, id);
    expect(await client.status(id)).toBe("started");
    await passes(2, id);
    expect(await client.status(id)).toBe("failed");
  });
});

test("a broken channel leaves its runner 30 s to come back", async () => {
  const { client, id, job, runner, channel } = await begun();
  await channel.output("a");
  advance(20);
  channel.socket.close(1001, "gone");
  await channel.closed;
  await passes(20, id);
  expect(await client.status(id)).toBe("started");
  const again = await runner.connect(job);
  expect(again.welcomed).toBe(2);
  again.socket.close(1001, "gone");
  await again.closed;
  await passes(31, id);
  expect(await client.status(id)).toBe("failed");
});
