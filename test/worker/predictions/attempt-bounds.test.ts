/** Bounds of what one attempt may report, whatever its runner is. */
import { beforeEach, expect, test } from "vitest";
import { type FloodedAttempt, floodedAttempt, many, NOTHING, TOO_MUCH } from "../support/flood.ts";
import { logRowsOf, objectOf } from "../support/objects.ts";

let attempt: FloodedAttempt;

beforeEach(async () => {
  attempt = await floodedAttempt();
});

test("an attempt has at most 200,000 outputs", { timeout: 60_000 }, async () => {
  expect(await attempt.flood(many(10_000, NOTHING), 20)).toBe(20);
  expect(await attempt.isKept([{ event: "logs", data: "still here" }])).toBe(true);
  expect(await attempt.isKept([NOTHING])).toBe(false);
  expect(await attempt.read()).toMatchObject(TOO_MUCH);
});

test("reports of logs that say nothing are bounded", { timeout: 60_000 }, async () => {
  // A runner sends at most `MAX_NOTES` (250,000) such events; the bound is a tenth higher.
  expect(await attempt.flood(many(10_000, { event: "logs", data: "" }), 70)).toBe(27);
  expect(await attempt.read()).toMatchObject(TOO_MUCH);
});

test("frames without any event write nothing: they are acknowledged with the next one that has one", async () => {
  const rows = async () => (await logRowsOf(await objectOf(attempt.run.id))).length;
  const before = await rows();
  for (let n = 0; n < 5; n++) attempt.run.channel.push([]);
  expect(await rows()).toBe(before);
  await attempt.run.channel.output("a");
  expect(await rows()).toBe(before + 1);
});
