/** The GPUs of runners in the metrics of the deployment, as the runners report them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { gaugesOf, MAX_GPUS } from "../../../src/domain/metrics/gauges.ts";
import type { RunnerSnapshot } from "../../../src/protocol/runner-state.ts";
import { among, readMetrics } from "../support/metrics.ts";
import { FakeRunner } from "../support/runner.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newClient, newOperatorUser, newWorld, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

type Device = RunnerSnapshot["devices"][number];

const device = (changes: Partial<Device> = {}): Device => ({
  id: "GPU-1",
  name: "NVIDIA L40S",
  memory_gb: 45,
  holder: null,
  ...changes,
});

const READING = {
  utilization: 0.97,
  memory_used_bytes: 20 * 1024 ** 3,
  memory_total_bytes: 45 * 1024 ** 3,
  temperature_celsius: 61,
  power_watts: 287.35,
};

async function newCollector() {
  const { username } = await newOperatorUser();
  return newClient(username, { scopes: ["metrics"] });
}

test("the readings of a runner's GPUs are gauges, and a value that it does not report has none", async () => {
  const collector = await newCollector();
  const world = await newWorld();
  const name = unique("box");
  const runner = await FakeRunner.begin(world.runnerToken, world.hardware, name);
  const devices = [
    device(READING),
    device({ id: "GPU-2", utilization: 0 }),
    device({ id: "MIG-3" }),
  ];
  void runner.claim({ devices });
  await runner.tellState({ devices });
  const labels = `pool="${world.hardware}",runner="${name}"`;
  expect(among(await readMetrics(collector), "auspex_gpu_", labels)).toEqual({
    [`auspex_gpu_utilization_ratio{${labels},gpu="GPU-1"}`]: 0.97,
    [`auspex_gpu_utilization_ratio{${labels},gpu="GPU-2"}`]: 0,
    [`auspex_gpu_memory_used_bytes{${labels},gpu="GPU-1"}`]: READING.memory_used_bytes,
    [`auspex_gpu_memory_total_bytes{${labels},gpu="GPU-1"}`]: READING.memory_total_bytes,
    [`auspex_gpu_temperature_celsius{${labels},gpu="GPU-1"}`]: 61,
    [`auspex_gpu_power_watts{${labels},gpu="GPU-1"}`]: 287.35,
  });
});

test("a GPU that a runner reports twice has one series, and an ID of other characters is refused", async () => {
  const collector = await newCollector();
  const world = await newWorld();
  const runner = await world.runner();
  const devices = [device(READING), device({ ...READING, utilization: 0.5 })];
  void runner.claim({ devices });
  await runner.tellState({ devices });
  const labels = `pool="${world.hardware}"`;
  const series = among(await readMetrics(collector), "auspex_gpu_utilization_ratio", labels);
  expect(Object.values(series)).toEqual([0.97]);
  for (const id of ['GPU"} 1\nauspex_up 1', "GPU 1", "ü", "x".repeat(101)]) {
    const { status } = await runner.tellState({ devices: [device({ id })] });
    expect(status).toBe(422);
  }
});

test("the first GPUs of all runners come before the others of one that reports very many", () => {
  const many = Array.from({ length: MAX_GPUS }, (_, n) => ({
    runner: "many",
    gpu: `GPU-${n}`,
    reading: { utilization: 1 },
  }));
  const one = { runner: "one", gpu: "GPU-1", reading: { utilization: 0 } };
  const empty = { waiting: [], runners: [], classes: [], slots: [], containers: [] };
  const families = gaugesOf([
    { ...empty, pool: "a", gpus: many },
    { ...empty, pool: "b", gpus: [one] },
  ]);
  const samples = families.find(({ name }) => name.endsWith("utilization_ratio"))?.samples ?? [];
  expect(samples).toHaveLength(MAX_GPUS);
  expect(samples.slice(0, 2).map(({ labels }) => labels.runner)).toEqual(["many", "one"]);
});
