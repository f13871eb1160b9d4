/** The data point of the end of a prediction. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Bindings } from "../../../src/env.ts";
import { captureLog } from "../support/log.ts";
import { objectOf } from "../support/objects.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

const SECRET = "the-secret-of-the-prompt";

const writeDataPoint = vi.fn<AnalyticsEngineDataset["writeDataPoint"]>();
let bindings: Bindings | undefined;

/** Objects have bindings of their own, which all objects share. */
const bind = async (id: string) =>
  runInDurableObject(await objectOf(id), (instance) => {
    bindings = Reflect.get(instance, "env");
    Object.assign(Reflect.get(instance, "env"), { ANALYTICS: { writeDataPoint } });
  });

beforeEach(stopClock);
afterEach(() => {
  delete bindings?.ANALYTICS;
  writeDataPoint.mockReset();
  startClock();
  vi.restoreAllMocks();
});

test("an end writes one data point, with the fields that operators sum up and nothing of input or output", async () => {
  const world = await newWorld();
  const id = await world.waiting({ prompt: SECRET });
  await bind(id);
  advance(7);
  const runner = await world.runner();
  const { channel } = await runner.work();
  await channel.report([{ event: "output", data: SECRET }], {
    status: "succeeded",
    output: "value",
    setup_seconds: 1.5,
    execution_seconds: 0.25,
  });
  expect(writeDataPoint.mock.calls).toEqual([
    [
      {
        indexes: [world.user_id],
        blobs: [world.user_id, world.model, "1", world.hardware, runner.id, "succeeded", ""],
        doubles: [7, 1.5, 0.25, expect.any(Number)],
      },
    ],
  ]);
  expect(JSON.stringify(writeDataPoint.mock.calls)).not.toContain(SECRET);
});

test("the data point of a failed model says so, without the error's text", async () => {
  const world = await newWorld();
  const { id, channel } = await world.begun();
  await bind(id);
  await channel.report([], {
    status: "failed",
    output: "none",
    error: { source: "external", message: SECRET },
  });
  const blobs = writeDataPoint.mock.calls.map(([point]) => point?.blobs?.slice(-2));
  expect(blobs).toEqual([["failed", "external"]]);
  expect(JSON.stringify(writeDataPoint.mock.calls)).not.toContain(SECRET);
});

test("the data point of a prediction that no runner took has the whole time as queue time", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  await bind(id);
  captureLog("warn");
  await passes(3_601, id);
  const [[point] = []] = writeDataPoint.mock.calls;
  expect(point?.blobs?.slice(4)).toEqual(["", "failed", "internal"]);
  expect(point?.doubles?.slice(0, 3)).toEqual([3_601, 0, 0]);
});

test("a data point that cannot be written is a warning, and the prediction ends as usual", async () => {
  const world = await newWorld();
  const { id, channel } = await world.begun();
  await bind(id);
  const log = captureLog("warn");
  writeDataPoint.mockImplementation(() => {
    throw new Error("too many points");
  });
  await channel.report([], { status: "succeeded", output: "none" });
  expect(await world.client.status(id)).toBe("succeeded");
  expect(log.entries()).toEqual([
    expect.objectContaining({ message: "Prediction not measured", prediction_id: id }),
  ]);
});
