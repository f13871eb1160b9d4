/** The log line of the end of a prediction. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { settings } from "../../../src/env.ts";
import { captureLog } from "../support/log.ts";
import { objectOf } from "../support/objects.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

const SECRET = "the-secret-of-the-prompt";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

/** Objects have bindings of their own, which all objects share. */
const sample = async (id: string, rate: number) =>
  runInDurableObject(await objectOf(id), (instance) => {
    settings(Reflect.get(instance, "env")).logSampleRate = rate;
  });

async function started(world: World) {
  const id = await world.waiting({ prompt: SECRET });
  const runner = await world.runner();
  return { id, runner, ...(await runner.work()) };
}

test("an end is one log line within the sample, with the fields that operators search for", async () => {
  const world = await newWorld();
  const { id, runner, channel } = await started(world);
  await sample(id, 1);
  const log = captureLog("info");
  await channel.report([{ event: "output", data: SECRET }], {
    status: "succeeded",
    output: "value",
    setup_seconds: 1.5,
    execution_seconds: 0.25,
  });
  await sample(id, 0);
  expect(log.entries()).toEqual([
    {
      level: "info",
      message: "Prediction ended",
      prediction_id: id,
      user_id: world.user_id,
      runner_id: runner.id,
      model: `${world.model}:1`,
      hardware: world.hardware,
      status: "succeeded",
      attempts: expect.any(Number),
      seconds: expect.any(Number),
      setup_seconds: 1.5,
      execution_seconds: 0.25,
    },
  ]);
  expect(JSON.stringify(log.mock.calls)).not.toContain(SECRET);
});

test("no log line is written outside of the sample, nor for a model's own failure", async () => {
  const world = await newWorld();
  const { channel } = await started(world);
  const logs = [captureLog("info"), captureLog("warn")];
  await channel.report([], {
    status: "failed",
    output: "none",
    error: { source: "external", message: SECRET },
  });
  for (const log of logs) expect(log.mock.calls).toEqual([]);
});

test("a failure of the service is a warning, whatever the sample, without the error's text", async () => {
  const world = await newWorld();
  const { id, runner, channel } = await started(world);
  const log = captureLog("warn");
  await channel.report([], {
    status: "failed",
    output: "none",
    error: { source: "internal", message: SECRET },
  });
  expect(log.entries()).toEqual([
    expect.objectContaining({
      level: "warn",
      message: "Prediction ended",
      prediction_id: id,
      runner_id: runner.id,
      status: "failed",
      error_source: "internal",
    }),
  ]);
  expect(JSON.stringify(log.mock.calls)).not.toContain(SECRET);
});

test("a prediction that no runner took is a warning without a runner", async () => {
  const world = await newWorld();
  const id = await world.waiting({ prompt: SECRET });
  const log = captureLog("warn");
  await passes(3_601, id);
  const [line] = log.entries();
  expect(line).toMatchObject({ prediction_id: id, hardware: world.hardware, status: "failed" });
  expect(line).not.toHaveProperty("runner_id");
});
