/** The runner's own metrics: containers, slots, jobs, GPUs, disks and caches. */
import type { Family, Labels } from "../../../src/lib/openmetrics.ts";
import type { GpuReading } from "../../../src/protocol/runner-state.ts";
import type { ExecutorState, StorageUse } from "../jobs/executor.ts";
import { VERSION } from "../lib/version.ts";
import type { Passed } from "./merge.ts";

export interface RunnerFigures {
  runner: string;
  state: ExecutorState;
  slots: { size: number; used: number };
  storage: StorageUse;
  passed: readonly Passed[];
}

const GPU_GAUGES: readonly [keyof GpuReading, name: string, help: string][] = [
  ["utilization", "gpu_utilization_ratio", "Share of the time in which the GPU works."],
  ["memory_used_bytes", "gpu_memory_used_bytes", "Memory of the GPU in use."],
  ["memory_total_bytes", "gpu_memory_total_bytes", "Memory of the GPU."],
  ["temperature_celsius", "gpu_temperature_celsius", "Temperature of the GPU."],
  ["power_watts", "gpu_power_watts", "Power that the GPU draws."],
];

export function ownFamilies({ runner, state, slots, storage, passed }: RunnerFigures): Family[] {
  const family = (
    name: string,
    help: string,
    samples: (readonly [labels: Labels, value: number | undefined])[],
    type: Family["type"] = "gauge",
  ): Family => ({
    name: `auspex_runner_${name}`,
    type,
    help,
    samples: samples.flatMap(([labels, value]) =>
      value === undefined ? [] : [{ labels: { runner, ...labels }, value }],
    ),
  });
  const { devices, containers } = state;
  const disks = Object.entries(storage.disks);
  return [
    family("build", "Version of the runner.", [[{ version: VERSION }, 1]], "info"),
    family("containers", "Containers by model and state.", countsOf(containers)),
    family("slots", "Slots of the runner.", [
      [{ state: "used" }, slots.used],
      [{ state: "free" }, Math.max(0, slots.size - slots.used)],
    ]),
    family("jobs", "Predictions that the runner works on.", [[{}, slots.used]]),
    ...GPU_GAUGES.map(([value, name, help]) =>
      family(
        name,
        help,
        devices.map((device) => [{ gpu: device.id }, device[value]]),
      ),
    ),
    family(
      "disk_total_bytes",
      "Size of the disk.",
      disks.map(([disk, usage]) => [{ disk }, usage?.total]),
    ),
    family(
      "disk_free_bytes",
      "Free space of the disk.",
      disks.map(([disk, usage]) => [{ disk }, usage?.free]),
    ),
    family(
      "cache_bytes",
      "Size of what the runner keeps on its disks and can fetch again.",
      Object.entries(storage.caches).map(([cache, bytes]) => [{ cache }, bytes]),
    ),
    family(
      "container_dropped_lines",
      "Lines of the container's metrics that cannot be passed on.",
      passed.map(({ origin, text: { dropped } }) => [{ ...origin }, dropped]),
    ),
  ];
}

const countsOf = (containers: ExecutorState["containers"]) =>
  [
    ...Map.groupBy(containers, ({ version = "", phase }) =>
      JSON.stringify([version.replace(/:.*/, ""), phase]),
    ),
  ].map(([key, { length }]): [Labels, number] => {
    const [model, state]: [string, string] = JSON.parse(key);
    return [{ model, state }, length];
  });
