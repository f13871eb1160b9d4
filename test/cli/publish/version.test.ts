/** Versions after their first start: the description of the server arrives a moment later. */

import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { completedVersion, exampleCall, trialOf } from "../../../src/cli/publish/version.ts";
import {
  newCompatibilities,
  type Version,
  type VersionStatus,
} from "../../../src/protocol/model.ts";
import { createPrediction } from "../../../src/protocol/prediction.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const versionOf = (status: VersionStatus): Version => ({
  number: 1,
  release_notes: "First",
  created_at: "2026-11-26T00:00:00.000Z",
  container_image_digest: `sha256:${"a".repeat(64)}`,
  status,
  schemas: { prediction: { input: {}, output: {}, stream_output: false } },
  compatibilities: newCompatibilities.parse({}),
  size: 0,
  configuration: {},
});

/** Returns a service that completes the version after `ms`. */
function completing(ms: number) {
  const at = Date.now() + ms;
  let reads = 0;
  const read = async () => {
    reads += 1;
    return versionOf(Date.now() >= at ? "ready" : "awaiting_first_start");
  };
  return { read, reads: () => reads };
}

test.each([0, 1, 800, 4_000])(
  "a version that is completed after %i ms is waited for",
  async (ms) => {
    const startedAt = Date.now();
    const { read } = completing(ms);
    const found = completedVersion(read, new AbortController().signal);
    await vi.runAllTimersAsync();
    expect(await found).toMatchObject({ status: "ready" });
    expect(Date.now()).toBeLessThan(startedAt + ms + 1_000);
  },
);

test("a version whose server has described nothing is waited for briefly, with few requests", async () => {
  const { read, reads } = completing(Number.POSITIVE_INFINITY);
  const found = completedVersion(read, new AbortController().signal);
  await vi.runAllTimersAsync();
  expect(await found).toMatchObject({ status: "awaiting_first_start" });
  expect(reads()).toBeLessThanOrEqual(15);
});

test("Ctrl+C ends the wait for a version", async () => {
  const stop = new AbortController();
  const found = completedVersion(completing(10_000).read, stop.signal);
  const ended = expect(found).rejects.toThrow("stopped");
  await vi.advanceTimersByTimeAsync(100);
  stop.abort(new Error("stopped"));
  await ended;
});

test("the trial is a plain prediction with the usual retention, so that its logs stay", () => {
  const input = { properties: { name: { type: "string", default: "Ada" } }, required: ["name"] };
  const schemas = { prediction: { input, output: {}, stream_output: false } };
  const trial = createPrediction.parse(trialOf("ada/greeter:1", { schemas }));
  expect(trial.retention_seconds).toBeUndefined();
  expect(trial).toMatchObject({ model: "ada/greeter:1", input: { name: "Ada" }, stream: true });
});

const NAMES = ["prompt", "$(touch x)", "a b", "it's", "; rm -rf ~", "`id`"];

test("names and values that a shell would run are quoted in the example call", () => {
  const properties = Object.fromEntries(
    NAMES.map((name) => [name, { type: "string", default: `${name} value` }]),
  );
  const input = { type: "object", properties, required: NAMES };
  const version: Pick<Version, "schemas" | "status" | "configuration"> = {
    schemas: { prediction: { input, output: {}, stream_output: false } },
    status: "ready",
    configuration: {},
  };
  const call = exampleCall("ada/story", version) ?? "";
  const words = call.replace("auspex run", "printf '%s\\n'");
  const printed = execFileSync("sh", ["-c", words], { encoding: "utf8" });
  expect(printed.trimEnd().split("\n")).toEqual([
    "ada/story",
    ...NAMES.map((name) => `${name}=${name} value`),
  ]);
});
