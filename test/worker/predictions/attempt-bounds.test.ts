/** Bounds of what one attempt may report, whatever its runner is. */
import { beforeEach, describe, expect, test } from "vitest";
import type { ReportedEvent } from "../../../src/protocol/event.ts";
import { storeValue } from "../support/files.ts";
import { logRowsOf, objectOf } from "../support/objects.ts";
import { newWorld, type World } from "../support/world.ts";

const TOO_MUCH = {
  status: "failed",
  error: { source: "internal", message: "The runner sent more than a prediction may have." },
};

let client: World["client"];
let run: Awaited<ReturnType<World["begun"]>>;
/** The number of the attempt's last frame: the first one reported that the container is ready. */
let seq: number;

beforeEach(async () => {
  const world = await newWorld();
  client = world.client;
  run = await world.begun();
  seq = 1;
});

const many = (count: number, event: ReportedEvent) => Array<ReportedEvent>(count).fill(event);

/** Returns whether the object kept a frame; a frame that exceeds a bound ends the attempt. */
async function isKept(events: ReportedEvent[]): Promise<boolean> {
  seq += 1;
  const reply = await run.channel.exchange({ type: "events", seq, events });
  if (reply.type !== "ack") expect(reply.type).toBe("fenced");
  return reply.type === "ack";
}

/** Sends the same frame until it is refused, `times` times at most. @returns how many were kept */
async function flood(events: ReportedEvent[], times: number): Promise<number> {
  for (let kept = 0; kept < times; kept++) if (!(await isKept(events))) return kept;
  return times;
}

describe("outputs", () => {
  const NOTHING: ReportedEvent = { event: "output", data: "" };

  test("an attempt has at most 200,000 outputs", { timeout: 60_000 }, async () => {
    expect(await flood(many(10_000, NOTHING), 20)).toBe(20);
    expect(await isKept([{ event: "logs", data: "still here" }])).toBe(true);
    expect(await isKept([NOTHING])).toBe(false);
    expect(await client.get(run.id)).toMatchObject(TOO_MUCH);
  });

  test("stored outputs count toward the 200,000 of an attempt", { timeout: 60_000 }, async () => {
    expect(await flood(many(10_000, NOTHING), 19)).toBe(19);
    expect(await isKept(many(9_999, NOTHING))).toBe(true);
    const stored = await storeValue(run.runner, run.job, "a");
    expect(await isKept([stored])).toBe(true);
    expect(await isKept([stored])).toBe(false);
    expect(await client.get(run.id)).toMatchObject(TOO_MUCH);
  });

  test("a prediction returns 200,000 outputs as the runner reported them", {
    timeout: 60_000,
  }, async () => {
    expect(await flood(many(10_000, { event: "output", data: 1 }), 20)).toBe(20);
    const finish = { status: "succeeded", output: "items" };
    await run.channel.exchange({ type: "events", seq: seq + 1, events: [], finish });
    const { status, output } = await client.get(run.id);
    expect([status, output]).toEqual(["succeeded", Array(200_000).fill(1)]);
  });
});

test("metrics of an attempt are bounded", { timeout: 60_000 }, async () => {
  const metrics = { tokens: 1, ["n".repeat(90)]: 1 };
  const kept = await flood(many(3_000, { event: "metrics", data: metrics }), 100);
  expect(kept).toBeGreaterThan(40);
  expect(kept).toBeLessThan(100);
  expect(await client.get(run.id)).toMatchObject(TOO_MUCH);
});

const WORDS = "n".repeat(1_900);

test.each<[string, ReportedEvent]>([
  ["progress", { event: "setup", data: { phase: "pulling" } }],
  ["logs that say nothing", { event: "logs", data: "" }],
  ["metrics without one", { event: "metrics", data: {} }],
])("reports of %s are bounded", { timeout: 60_000 }, async (_, event) => {
  // A runner sends at most `MAX_NOTES` (250,000) such events; the bound is a tenth higher.
  expect(await flood(many(10_000, event), 70)).toBe(27);
  expect(await client.get(run.id)).toMatchObject(TOO_MUCH);
});

test.each<[string, ReportedEvent]>([
  ["progress with many words", { event: "setup", data: { phase: "pulling", message: WORDS } }],
  [
    "progress with many words, and a letter of a log",
    { event: "setup", data: { phase: "starting", message: WORDS, logs: "a" } },
  ],
])("reports of %s reach the bound earlier", { timeout: 60_000 }, async (_, event) => {
  // Each of these events counts as twenty.
  expect(await flood(many(250, event), 200)).toBe(54);
  expect(await client.get(run.id)).toMatchObject(TOO_MUCH);
});

test("frames without any event write nothing: they are acknowledged with the next one that has one", async () => {
  const rows = async () => (await logRowsOf(await objectOf(run.id))).length;
  const before = await rows();
  for (let n = 0; n < 5; n++) run.channel.push([]);
  expect(await rows()).toBe(before);
  await run.channel.output("a");
  expect(await rows()).toBe(before + 1);
});
