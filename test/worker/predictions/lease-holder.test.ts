/** Leases belong to the runner that they were given to, and end with its token. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CLOSE } from "../../../src/protocol/channel.ts";
import { LEASE_HEADER } from "../../../src/protocol/runner.ts";
import { eventsOf, named } from "../support/events.ts";
import { revoke } from "../support/fleet.ts";
import { Channel, FakeRunner } from "../support/runner.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newRunnerToken, newWorld, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

describe("a thief of a lease", () => {
  const calls: [string, string, RequestInit][] = [
    ["GET", "/v1/runner/input", {}],
    ["POST", "/v1/runner/files?name=x", { body: "x" }],
    ["POST", "/v1/runner/values", { body: "1" }],
    ["POST", "/v1/runner/uploads", { body: JSON.stringify({ size: 1, mime_type: "text/plain" }) }],
    [
      "POST",
      `/v1/runner/uploads/${crypto.randomUUID()}/complete`,
      { body: JSON.stringify({ etags: ["x"] }) },
    ],
  ];

  test.each(calls)("a thief is refused %s %s", async (method, path, init) => {
    const world = await newWorld();
    const { job, runner } = await world.begun();
    const thief = await otherRunner(world.hardware);
    const call = (by: FakeRunner) =>
      by.client.fetch(path, {
        ...init,
        method,
        headers: {
          [LEASE_HEADER]: job.lease,
          "content-type": "application/json",
          ...(typeof init.body === "string" && { "content-length": String(init.body.length) }),
        },
      });
    const refused = await call(thief);
    expect(refused.status).toBe(404);
    expect(await refused.json()).toMatchObject({
      detail: expect.stringContaining("An attempt with this lease"),
    });
    expect(await (await call(runner)).text()).not.toContain("An attempt with this lease");
  });

  test("a stolen lease neither opens the channel nor reports, and the run goes on", async () => {
    const world = await newWorld();
    const { id, job, channel } = await world.begun();
    const thief = await otherRunner(world.hardware);
    expect((await Channel.request(thief.client, job.lease)).status).toBe(409);
    const frame = {
      type: "events",
      seq: 2,
      events: [],
      finish: { status: "failed", output: "none" },
    };
    expect(await thief.report(job.lease, frame)).toEqual({
      type: "fenced",
      reason: "the attempt has ended",
    });
    await channel.succeed("mine");
    expect(await world.client.get(id)).toMatchObject({ status: "succeeded", output: ["mine"] });
  });

  test("a stolen lease does not fit after the thief puts its own name in it", async () => {
    const world = await newWorld();
    const { job } = await world.begun();
    const thief = await otherRunner(world.hardware);
    const parts = job.lease.split(".");
    const own = [...parts.slice(0, 2), thief.id, parts[3]].join(".");
    expect((await Channel.request(thief.client, own)).status).toBe(409);
  });
});

describe("a runner token that is revoked", () => {
  test("an open channel is closed within 10 s, and the attempt is handed on", async () => {
    const world = await newWorld();
    const { id, job, channel } = await world.begun();
    await revoke(world.runnerToken);
    await passes(9, id);
    expect(await world.client.status(id)).toBe("started");
    await passes(1.1, id);
    expect(await channel.next()).toMatchObject({ type: "fenced", reason: /revoked/ });
    expect((await channel.closed).code).toBe(CLOSE.fenced);
    const other = await otherRunner(world.hardware);
    const next = await other.take();
    expect(next.prediction_id).toBe(id);
    await (await other.connect(next)).succeed("b");
    expect(named(await eventsOf(world.client.stream(id)), "status")).toMatchObject([
      { status: "pending" },
      { attempt: job.attempt },
      { lost: job.attempt },
      { attempt: next.attempt },
      { status: "succeeded" },
    ]);
  });

  test("a revoked token fails a run with output, and cancels a run with a recorded cancel", async () => {
    const world = await newWorld();
    const [told, asked] = [await world.begun(), await world.begun()];
    await told.channel.output("a");
    expect(await world.client.cancel(asked.id)).toBe(202);
    await revoke(world.runnerToken);
    advance(10.1);
    for (const { id } of [told, asked]) await passes(0, id);
    expect(await world.client.get(told.id)).toMatchObject({ status: "failed", output: ["a"] });
    expect(await world.client.status(asked.id)).toBe("canceled");
  });

  test("a channel under another token stays open", async () => {
    const world = await newWorld();
    const { id, channel } = await world.begun();
    await revoke(await newRunnerToken(world.hardware));
    await passes(10.1, id);
    await passes(10.1, id);
    await channel.succeed("a");
    expect(await world.client.status(id)).toBe("succeeded");
  });

  test("a frame causes no query to D1", async () => {
    const world = await newWorld();
    const { channel } = await world.begun();
    const asked = vi.spyOn(env.DB, "prepare");
    await channel.outputEach(Array<string>(20).fill("x"));
    // Rows of earlier predictions may still be on their way.
    expect(asked.mock.calls.filter(([query]) => /^select/i.test(query))).toEqual([]);
  });
});

const otherRunner = async (hardware: string) =>
  FakeRunner.begin(await newRunnerToken(hardware), hardware, unique("thief"));
