/** Reports of short runs: each is the run's only frame, in one request instead of a channel of its own. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { MAX_REPORTS } from "../../../src/protocol/channel.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import { eventsOf, named } from "../support/events.ts";
import { objectOf } from "../support/objects.ts";
import type { FakeRunner } from "../support/runner.ts";
import { createWith, waitingRunner } from "../support/short-runs.ts";
import { advance, startClock, stopClock, withoutTimers } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

const FRAME = {
  type: "events",
  seq: 1,
  events: [{ event: "output", data: "hi" }],
  finish: { status: "succeeded", output: "value", execution_seconds: 0.001 },
};

const report = (runner: FakeRunner, lease: string, frame: object = FRAME) =>
  runner.report(lease, frame);

async function taken() {
  const world = await newWorld();
  const id = await world.waiting();
  const runner = await world.runner();
  const job: Job = await runner.take();
  return { client: world.client, id, runner, job };
}

test("a report is a whole run: started, output, end", async () => {
  const { client, id, runner, job } = await taken();
  const reply = await report(runner, job.lease);
  expect(reply).toEqual({ type: "ack", seq: 1, receipt: expect.any(String) });
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

test("a report that is sent twice is kept once, also over the channel", async () => {
  const { client, id, runner, job } = await taken();
  await report(runner, job.lease);
  expect(await report(runner, job.lease)).toEqual({
    type: "ack",
    seq: 1,
    receipt: expect.any(String),
  });
  expect((await runner.connect(job)).welcomed).toBe(1);
  expect(named(await eventsOf(client.stream(id)), "output")).toEqual(["hi"]);
});

test("a report that is sent again to an object that died with the answer is kept once", async () => {
  const { client, id, runner, job } = await taken();
  await report(runner, job.lease);
  const events = await eventsOf(client.stream(id));
  await abortAllDurableObjects();
  expect(await report(runner, job.lease)).toMatchObject({ type: "ack", seq: 1 });
  expect(await eventsOf(client.stream(id))).toEqual(events);
  expect(await client.get(id)).toMatchObject({ status: "succeeded", output: "hi" });
});

test("a report that is sent again and again does not delay the row of the end", async () => {
  stopClock();
  const world = await newWorld();
  const { runner, polling } = await waitingRunner(world);
  const { job, id } = await withoutTimers(async () => {
    const creating = createWith(world);
    const job = await polling;
    await report(runner, job.lease);
    return { job, id: (await creating).body.id };
  });
  // A restarted object does not know whether its predecessor has written the row.
  await abortAllDurableObjects();
  const alarm = async () =>
    runInDurableObject(await objectOf(id), (_, { storage }) => storage.getAlarm());
  await report(runner, job.lease);
  const first = await alarm();
  advance(9);
  await report(runner, job.lease);
  expect(await alarm()).toBe(first);
  startClock();
});

test("a report of an attempt that has ended is fenced, and changes nothing", async () => {
  const { client, id, runner, job } = await taken();
  await client.cancel(id);
  expect(await report(runner, job.lease)).toMatchObject({ type: "fenced" });
  expect(await client.get(id)).toMatchObject({ status: "canceled", output: null });
});

test("a report with a wrong lease reaches nothing", async () => {
  const { client, id, runner, job } = await taken();
  const forged = job.lease.slice(0, -1) + (job.lease.endsWith("0") ? "1" : "0");
  expect(await report(runner, forged)).toMatchObject({ type: "fenced" });
  expect(await report(runner, "nonsense")).toMatchObject({ type: "refused" });
  expect(await client.status(id)).toBe("pending");
});

test("a report with a frame out of order, or without a frame, is refused", async () => {
  const { client, id, runner, job } = await taken();
  expect(await report(runner, job.lease, { ...FRAME, seq: 2 })).toMatchObject({
    type: "refused",
    reason: "frame 1 comes next, not 2",
  });
  expect(await report(runner, job.lease, { type: "release", reason: "x" })).toEqual({
    type: "refused",
    reason: "This is not a frame with events.",
  });
  expect(await client.status(id)).toBe("pending");
});

/** Two predictions that a runner has taken. */
async function pair() {
  const world = await newWorld();
  const ids = [await world.waiting(), await world.waiting()];
  const runner = await world.runner(2);
  const jobs = [await runner.take(), await runner.take()];
  const [first = "", second = ""] = ids.map(
    (id) => jobs.find(({ prediction_id }) => prediction_id === id)?.lease,
  );
  return { client: world.client, ids, runner, first, second };
}

test("several reports are taken together, and an invalid one does not affect the others", async () => {
  const { client, ids, runner, first, second } = await pair();
  const replies = await runner.reports([
    { lease: first, frame: FRAME },
    { lease: "nonsense", frame: FRAME },
    { lease: second, frame: { ...FRAME, seq: 2 } },
    { lease: second, frame: { type: "events", seq: 1, events: "none" } },
    { lease: second, frame: FRAME },
  ]);
  expect(replies.map(({ type }) => type)).toEqual(["ack", "refused", "refused", "refused", "ack"]);
  for (const id of ids) expect(await client.status(id)).toBe("succeeded");
});

test("a report whose prediction is down is refused, and the others are taken", async () => {
  const { client, ids, runner, first, second } = await pair();
  const report = vi.spyOn(PredictionObject.prototype, "report");
  report.mockRejectedValueOnce(new Error("it is down"));
  const replies = await runner.reports([
    { lease: first, frame: FRAME },
    { lease: second, frame: FRAME },
  ]);
  report.mockRestore();
  expect(replies.map(({ type }) => type).sort()).toEqual(["ack", "refused"]);
  const statuses = await Promise.all(ids.map((id) => client.status(id)));
  expect(statuses.sort()).toEqual(["pending", "succeeded"]);
});

/** A frame's value may be 133 levels deep, in a report as over the channel. */
test.each([
  [133, "ack"],
  [134, "refused"],
])("a value of %s levels is answered with %s", async (levels, type) => {
  const { runner, job } = await taken();
  const value = "[".repeat(levels) + "]".repeat(levels);
  const frame = `{"type":"events","seq":1,"events":[{"event":"output","data":${value}}]}`;
  expect((await runner.report(job.lease, frame)).type).toBe(type);
});

test("a request without reports, or with too many, is a 422", async () => {
  const { runner, job } = await taken();
  const statusOf = async (count: number) => {
    const report = { lease: job.lease, frame: JSON.stringify(FRAME) };
    const reports = Array.from({ length: count }, () => report);
    return (await runner.client.json("POST", "/v1/runner/reports", { reports })).status;
  };
  expect([await statusOf(0), await statusOf(MAX_REPORTS + 1)]).toEqual([422, 422]);
});
