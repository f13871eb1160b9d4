/** Cancels: each is recorded, then sent to the runner wherever it is connected, and enforced after 60 s. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CLOSE } from "../../../src/protocol/channel.ts";
import { eventsOf, named } from "../support/events.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

async function begun() {
  const world = await newWorld();
  return { client: world.client, ...(await world.begun()) };
}

test("a cancel ends a waiting prediction at once, and no runner gets it", async () => {
  const { client, waiting, runner } = await newWorld();
  const id = await waiting();
  expect(await client.cancel(id)).toBe(202);
  expect(await client.status(id)).toBe("canceled");
  const events = await eventsOf(client.stream(id));
  expect(named(events, "status")).toMatchObject([{ status: "pending" }, { status: "canceled" }]);
  expect(named(events, "done")).toMatchObject([{ id, status: "canceled" }]);
  const next = await waiting();
  expect((await (await runner()).take()).prediction_id).toBe(next);
});

test("a cancel of a prediction that has ended is a 409 and changes nothing", async () => {
  const { client, id, channel } = await begun();
  await channel.succeed("a");
  const { status, body } = await client.refused(`/v1/predictions/${id}/cancel`, {});
  expect(status).toBe(409);
  expect(body).toMatchObject({ type: "urn:auspex:conflict", status: 409 });
  expect(await client.get(id)).toMatchObject({ status: "succeeded", output: ["a"] });
});

test("a cancel ends a prediction whose runner has not begun at once, and fences the runner", async () => {
  const { client, waiting, runner } = await newWorld();
  const id = await waiting();
  const one = await runner();
  const job = await one.take();
  const channel = await one.connect(job);
  await client.cancel(id);
  expect(await channel.next()).toMatchObject({ type: "fenced" });
  expect(await client.status(id)).toBe("canceled");
});

describe("cancels of a running prediction", () => {
  test("a cancel reaches the runner at once, each time it is asked for, and the runner ends the prediction", async () => {
    const { client, id, channel } = await begun();
    expect(await client.cancel(id)).toBe(202);
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    expect(await client.status(id)).toBe("started");
    expect(await client.cancel(id)).toBe(202);
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    await channel.report([{ event: "output", data: "last words" }], {
      status: "canceled",
      output: "items",
    });
    expect(await client.get(id)).toMatchObject({
      status: "canceled",
      output: ["last words"],
      error: null,
    });
  });

  test("a cancel outlasts a model that finished first: the prediction is canceled and its output stays", async () => {
    const { client, id, channel } = await begun();
    await channel.output("so far");
    expect(await client.cancel(id)).toBe(202);
    expect((await channel.next()).type).toBe("cancel");
    await channel.succeed("done anyway");
    expect(await client.get(id)).toMatchObject({
      status: "canceled",
      output: ["so far", "done anyway"],
      error: null,
    });
  });

  test("a cancel outlasts a result that a returning runner brings", async () => {
    const { client, id, job, runner, channel } = await begun();
    channel.socket.close(1001, "frozen");
    await channel.closed;
    expect(await client.cancel(id)).toBe(202);
    const again = await runner.connect(job);
    expect(await again.next()).toMatchObject({ type: "cancel" });
    await again.succeed("done meanwhile");
    expect(await client.get(id)).toMatchObject({ status: "canceled", output: ["done meanwhile"] });
  });

  test("a cancel reaches the runner when it reconnects after a broken channel", async () => {
    const { client, id, job, runner, channel } = await begun();
    channel.socket.close(1001, "gone");
    await channel.closed;
    expect(await client.cancel(id)).toBe(202);
    const again = await runner.connect(job);
    expect(await again.next()).toMatchObject({ type: "cancel" });
    await again.report([], { status: "canceled", output: "none" });
    expect(await client.status(id)).toBe("canceled");
  });

  test("a cancel is enforced after 60 s on a runner that does not obey", async () => {
    const { client, id, channel } = await begun();
    await client.cancel(id);
    expect((await channel.next()).type).toBe("cancel");
    await passes(25, id);
    await channel.output("still here");
    await passes(25, id);
    await channel.output("and here");
    expect(await client.status(id)).toBe("started");
    await passes(11, id);
    expect(await client.status(id)).toBe("canceled");
    expect(await channel.next()).toMatchObject({ type: "fenced" });
    expect((await channel.closed).code).toBe(CLOSE.fenced);
  });

  test("a cancel ends a prediction that its runner handed back", async () => {
    const { client, id, channel } = await begun();
    await client.cancel(id);
    expect((await channel.next()).type).toBe("cancel");
    channel.send({ type: "release", reason: "shutting down" });
    expect(await channel.next()).toMatchObject({ type: "fenced" });
    expect(await client.status(id)).toBe("canceled");
  });
});

describe("cancels by Prefer: wait=n, cancel", () => {
  test("a cancel is recorded when the wait is over", async () => {
    const { client, model } = await newWorld();
    const { status, headers, body } = await client.create(
      { model, input: {} },
      { prefer: "wait=0, cancel" },
    );
    expect(status).toBe(202);
    expect(headers.get("preference-applied")).toBe("wait=0, cancel");
    await passes(1, body.id);
    expect(await client.status(body.id)).toBe("canceled");
  });

  test("a cancel reaches a runner that has begun", async () => {
    const { client, model, runner } = await newWorld();
    const creating = client.create({ model, input: {} }, { prefer: "wait=5, cancel" });
    const { job, channel } = await (await runner()).work();
    await passes(6, job.prediction_id);
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    await channel.report([], { status: "canceled", output: "none" });
    const { status, body } = await creating;
    expect(status).toBe(202);
    expect(body).toMatchObject({ id: job.prediction_id, status: "canceled" });
  });

  test("no cancel follows a prediction that ended within its wait", async () => {
    const { client, model, runner } = await newWorld();
    const creating = client.create({ model, input: {} }, { prefer: "wait=5, cancel" });
    const { channel } = await (await runner()).work();
    await channel.succeed("a");
    const { status, body } = await creating;
    expect(status).toBe(200);
    await passes(10, body.id);
    expect(await client.status(body.id)).toBe("succeeded");
  });
});
