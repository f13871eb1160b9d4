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

/** A prediction whose runner has reported once. */
async function begun() {
  const world = await newWorld();
  return { world, client: world.client, ...(await world.begun()) };
}

describe("a runner that is silent for 30 s", () => {
  test("a loss before output opens another attempt and fences the old one", async () => {
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

  test("a loss before output gives the next attempt the whole limit of logs", async () => {
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

  test("a loss after output fails the prediction, for another run would answer twice", async () => {
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

  test("three losses in turn fail the prediction", async () => {
    const { world, client, id } = await begun();
    for (let lost = 1; lost < 3; lost++) {
      await passes(31, id);
      expect(await client.status(id)).toBe("started");
      await (await world.runner()).work();
    }
    await passes(31, id);
    expect(await client.get(id)).toMatchObject({ status: "failed", error: { source: "internal" } });
  });

  test("a loss with a recorded cancel cancels the prediction, which never runs again", async () => {
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
  // The platform stamps a ping with its own clock, which the test's clock now equals again.
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

describe("a runner that returns after its lease", () => {
  test("late frames are refused, on the old channel and on a new one", async () => {
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

  test("the input is refused after the lease", async () => {
    const { id, job, runner } = await begun();
    const read = () =>
      runner.client.fetch("/v1/runner/input", { headers: { "x-auspex-lease": job.lease } });
    expect((await read()).status).toBe(200);
    await passes(31, id);
    expect((await read()).status).toBe(404);
  });
});

describe("an object that was restarted with its channels closed", () => {
  test("a restarted object gives the runner 10 s to return when its lease would be over", async () => {
    const { client, id, job, runner, channel } = await withoutTimers(begun);
    await channel.output("a");
    await evictDurableObject(await objectOf(id), { webSockets: "close" });
    await passes(31, id);
    expect(await client.status(id)).toBe("started");
    const again = await runner.connect(job);
    await again.succeed("b");
    expect(await client.get(id)).toMatchObject({ status: "succeeded", output: ["a", "b"] });
  });

  test("a restarted object gives 10 s also after a broken channel was replaced in time", async () => {
    const { client, id, job, runner, channel } = await withoutTimers(begun);
    const again = await runner.connect(job);
    // The object notices only now that the first channel is gone.
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

  test("a restarted object waits no longer than 10 s", async () => {
    const { client, id, channel } = await withoutTimers(begun);
    await channel.output("a");
    await evictDurableObject(await objectOf(id), { webSockets: "close" });
    await passes(31, id);
    await passes(9, id);
    expect(await client.status(id)).toBe("started");
    await passes(2, id);
    expect(await client.status(id)).toBe("failed");
  });

  test("a restarted object waits for the rest of the lease since the last frame", async () => {
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
