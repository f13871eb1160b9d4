/** The report of a short run: its only frame, in one request instead of a channel. */
import { abortAllDurableObjects } from "cloudflare:test";
import { expect, test } from "vitest";
import { type Job, LEASE_HEADER } from "../../../src/protocol/runner.ts";
import { eventsOf, named } from "../support/events.ts";
import type { FakeRunner } from "../support/runner.ts";
import { newWorld } from "../support/world.ts";

const FRAME = {
  type: "events",
  seq: 1,
  events: [{ event: "output", data: "hi" }],
  finish: { status: "succeeded", output: "value", execution_seconds: 0.001 },
};

const report = (runner: FakeRunner, lease: string, frame: object = FRAME) =>
  runner.client.json("POST", "/v1/runner/report", frame, { [LEASE_HEADER]: lease });

async function taken() {
  const world = await newWorld();
  const id = await world.waiting();
  const runner = await world.runner();
  const job: Job = await runner.take();
  return { client: world.client, id, runner, job };
}

test("is a whole run: started, output, end", async () => {
  const { client, id, runner, job } = await taken();
  const { status, body } = await report(runner, job.lease);
  expect([status, body]).toEqual([200, { type: "ack", seq: 1, receipt: expect.any(String) }]);
  expect(await client.get(id)).toMatchObject({ status: "succeeded", output: "hi" });
  const events = await eventsOf(client.stream(id));
  expect(events.map(({ event }) => event)).toEqual([
    "status",
    "status",
    "output",
    "status",
    "done",
  ]);
});

test("sent twice it is kept once, over the channel too", async () => {
  const { client, id, runner, job } = await taken();
  await report(runner, job.lease);
  expect((await report(runner, job.lease)).body).toEqual({
    type: "ack",
    seq: 1,
    receipt: expect.any(String),
  });
  expect((await runner.connect(job)).welcomed).toBe(1);
  expect(named(await eventsOf(client.stream(id)), "output")).toEqual(["hi"]);
});

test("sent again to an object that died with the answer is kept once", async () => {
  const { client, id, runner, job } = await taken();
  await report(runner, job.lease);
  const events = await eventsOf(client.stream(id));
  await abortAllDurableObjects();
  expect((await report(runner, job.lease)).body).toMatchObject({ type: "ack", seq: 1 });
  expect(await eventsOf(client.stream(id))).toEqual(events);
  expect(await client.get(id)).toMatchObject({ status: "succeeded", output: "hi" });
});

test("of an attempt that has ended is fenced, and changes nothing", async () => {
  const { client, id, runner, job } = await taken();
  await client.cancel(id);
  expect((await report(runner, job.lease)).body).toMatchObject({ type: "fenced" });
  expect(await client.get(id)).toMatchObject({ status: "canceled", output: null });
});

test("with a wrong lease it reaches nothing", async () => {
  const { client, id, runner, job } = await taken();
  const forged = `${job.lease.slice(0, -4)}0000`;
  expect((await report(runner, forged)).body).toMatchObject({ type: "fenced" });
  expect((await report(runner, "nonsense")).status).toBe(404);
  expect(await client.status(id)).toBe("pending");
});

test("a frame out of order, and what is no frame, are refused", async () => {
  const { client, id, runner, job } = await taken();
  expect((await report(runner, job.lease, { ...FRAME, seq: 2 })).status).toBe(400);
  expect((await report(runner, job.lease, { type: "release", reason: "x" })).status).toBe(422);
  expect(await client.status(id)).toBe("pending");
});
