/** The present state of pools, as families of metrics. */
import type { Family, Sample } from "../../lib/openmetrics.ts";
import { UNIT } from "../../protocol/money.ts";
import type { DiskUse, GpuReading } from "../../protocol/runner-state.ts";
import type { Levels } from "./levels.ts";

/** The line and the runners of a pool, in numbers. */
export interface PoolGauges {
  pool: string;
  waiting: { class: string; priority: string; count: number; oldest_ms: number }[];
  runners: { state: string; count: number }[];
  /** The classes that a ready runner serves. */
  classes: { class: string; has_free_slot: boolean }[];
  slots: { state: "free" | "used"; count: number }[];
  /** The model is `owner/name`. */
  containers: { model: string; state: string; count: number }[];
  /** GPUs of connected runners, the first of each before all others. */
  gpus: { runner: string; gpu: string; reading: GpuReading }[];
  /** Disks of connected runners. */
  disks: { runner: string; disk: string; use: DiskUse }[];
}

/** A hard budget of an account, which is known by its username. */
export interface BudgetGauge {
  account: string;
  budget: Levels["budgets"][number];
}

/** @param currency a code of ISO 4217 */
export const budgetGauge = (budgets: BudgetGauge[], currency: string): Family => ({
  name: "auspex_budget_remaining",
  type: "gauge",
  help: "What a hard budget has left in its present window, in units of the currency.",
  samples: budgets.map(({ account, budget: { id, scope, window, left } }) => ({
    labels: { account, budget: id, scope, window, currency },
    value: left / UNIT,
  })),
});

/** The most models with containers of a pool in an exposition, and of all pools together. */
export const MAX_CONTAINER_SERIES = 300;
const MAX_ALL_CONTAINERS = 1_500;

/** The most GPUs in an exposition, of all pools, and the most disks. */
export const MAX_GPUS = 500;
export const MAX_DISKS = 500;

export function gaugesOf(pools: PoolGauges[]): Family[] {
  const gpus = pools
    .flatMap(({ pool, gpus }) => gpus.map((one, place) => ({ ...one, pool, place })))
    .toSorted((a, b) => a.place - b.place)
    .slice(0, MAX_GPUS);
  const containersOfPool = Math.floor(MAX_ALL_CONTAINERS / Math.max(1, pools.length));
  const ofGpus = (name: string, help: string, value: keyof GpuReading): Family => ({
    name: `auspex_gpu_${name}`,
    type: "gauge",
    help,
    samples: gpus.flatMap(({ pool, runner, gpu, reading: { [value]: told } }) =>
      told === undefined ? [] : [{ labels: { pool, runner, gpu }, value: told }],
    ),
  });
  const disks = pools
    .flatMap(({ pool, disks }) => disks.map((one, place) => ({ ...one, pool, place })))
    .toSorted((a, b) => a.place - b.place)
    .slice(0, MAX_DISKS);
  const ofDisks = (value: keyof DiskUse, help: string): Family => ({
    name: `auspex_runner_disk_${value}_bytes`,
    type: "gauge",
    help,
    samples: disks.map(({ pool, runner, disk, use }) => ({
      labels: { pool, runner, disk },
      value: use[value],
    })),
  });
  const gauge = (name: string, help: string, of: (one: PoolGauges) => Sample[]): Family => ({
    name: `auspex_${name}`,
    type: "gauge",
    help,
    samples: pools.flatMap((one) =>
      of(one).map(({ labels, value }) => ({ labels: { pool: one.pool, ...labels }, value })),
    ),
  });
  return [
    gauge("pool_waiting", "Predictions that wait for a runner.", ({ waiting }) =>
      waiting.map(({ class: name, priority, count }) => ({
        labels: { class: name, priority },
        value: count,
      })),
    ),
    gauge(
      "pool_oldest_wait_seconds",
      "The longest that a prediction of the class waits by now.",
      ({ waiting }) =>
        [...Map.groupBy(waiting, (one) => one.class)].map(([name, rows]) => ({
          labels: { class: name },
          value: Math.max(...rows.map(({ oldest_ms }) => oldest_ms)) / 1_000,
        })),
    ),
    gauge("runners", "Runners by state.", ({ runners }) =>
      runners.map(({ state, count }) => ({ labels: { state }, value: count })),
    ),
    gauge("slots", "Slots of connected runners.", ({ slots }) =>
      slots.map(({ state, count }) => ({ labels: { state }, value: count })),
    ),
    gauge("containers", "Containers by model and state.", ({ containers }) =>
      containers
        .slice(0, containersOfPool)
        .map(({ model, state, count }) => ({ labels: { model, state }, value: count })),
    ),
    ofGpus("utilization_ratio", "Share of the time in which the GPU works.", "utilization"),
    ofGpus("memory_used_bytes", "Memory of the GPU in use.", "memory_used_bytes"),
    ofGpus("memory_total_bytes", "Memory of the GPU.", "memory_total_bytes"),
    ofGpus("temperature_celsius", "Temperature of the GPU.", "temperature_celsius"),
    ofGpus("power_watts", "Power that the GPU draws.", "power_watts"),
    ofDisks("total", "Size of the disk."),
    ofDisks("free", "Free space of the disk."),
  ];
}
