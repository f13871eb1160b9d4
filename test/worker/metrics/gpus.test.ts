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

test("the disks of a runner are gauges, and the fullest one is part of its state", async () => {
  const collector = await newCollector();
  const world = await newWorld();
  const name = unique("box");
  const runner = await FakeRunner.begin(world.runnerToken, world.hardware, name);
  const disks = { data: { free: 3e9, total: 1e12 }, images: { free: 2e9, total: 5e11 } };
  const devices = [device(READING), device({ id: "GPU-2", temperature_celsius: 93 })];
  void runner.claim({ devices, disks });
  await runner.tellState({ devices, disks });
  const labels = `pool="${world.hardware}",runner="${name}"`;
  expect(among(await readMetrics(collector), "auspex_runner_disk_", labels)).toEqual({
    [`auspex_runner_disk_free_bytes{${labels},disk="data"}`]: 3e9,
    [`auspex_runner_disk_free_bytes{${labels},disk="images"}`]: 2e9,
    [`auspex_runner_disk_total_bytes{${labels},disk="data"}`]: 1e12,
    [`auspex_runner_disk_total_bytes{${labels},disk="images"}`]: 5e11,
  });
  const operator = await newOperatorUser();
  const states = await newClient(operator.username, { scopes: ["operator"] });
  expect(await states.ok("GET", `/v1/operator/runners/${runner.id}`)).toMatchObject({
    gpu_celsius: 93,
    disk: { free_bytes: 2e9, total_bytes: 5e11 },
  });
});

test("a runner's own names of disks, and figures that are no numbers, are no series", async () => {
  const collector = await newCollector();
  const world = await newWorld();
  const runner = await world.runner();
  const disk = { free: 1, total: 2 };
  const disks = { data: disk, 'x"} 1\nauspex_up': disk };
  void runner.claim({ disks });
  await runner.tellState({ disks });
  const labels = `pool="${world.hardware}"`;
  const series = among(await readMetrics(collector), "auspex_runner_disk_", labels);
  expect(Object.keys(series)).toHaveLength(2);
  for (const free of ["1", -1, null]) {
    const { status } = await runner.tellState({ disks: { data: { free, total: 2 } } as never });
    expect(status).toBe(422);
  }
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
  const empty = { waiting: [], runners: [], classes: [], slots: [], containers: [], disks: [] };
  const families = gaugesOf([
    { ...empty, pool: "a", gpus: many },
    { ...empty, pool: "b", gpus: [one] },
  ]);
  const samples = families.find(({ name }) => name.endsWith("utilization_ratio"))?.samples ?? [];
  expect(samples).toHaveLength(MAX_GPUS);
  expect(samples.slice(0, 2).map(({ labels }) => labels.runner)).toEqual(["many", "one"]);
});
