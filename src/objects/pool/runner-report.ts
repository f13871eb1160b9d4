/** Runners as operators see them. */
import type { DiskUse } from "../../protocol/runner-state.ts";
import type { ReportedRunner, RunnerCondition } from "../stubs/pool.ts";
import type { ContainerNames } from "./containers.ts";
import type { PoolRunner } from "./pool-runner.ts";

/** A full runner does not poll. It reports every 30 s. */
const REPORT_MS = 45_000;

/** Returns at most 256 devices, 512 containers and 2,000 jobs (protocol/runner-state.ts). */
export function reportedRunner(runner: PoolRunner, names: ContainerNames): ReportedRunner {
  const { snapshot, reportedAt, work } = runner;
  return {
    at: reportedAt,
    max_containers: snapshot.max_containers,
    devices: snapshot.devices,
    containers: snapshot.containers.map(
      ({ key, version, phase_ms, idle_ms, runs_ms: _, ...container }) => ({
        ...container,
        model: version ?? names.find(key)?.model?.name ?? null,
        since: reportedAt - phase_ms,
        idle_since: idle_ms === null ? null : reportedAt - idle_ms,
      }),
    ),
    jobs: work.map(({ number: _, ...job }) => job),
  };
}

export function conditionOf(
  runner: PoolRunner,
  now: number,
): Omit<RunnerCondition, "failed_starts"> {
  const { devices, disks } = runner.snapshot;
  const temperatures = devices.flatMap(({ temperature_celsius: told }) => told ?? []);
  return {
    reported_at: runner.lastSeenAt,
    connected:
      runner.isExpected ||
      (runner.isFull && !runner.isMissing && now - runner.lastSeenAt < REPORT_MS),
    lost_gpus: devices.filter(({ lost }) => lost).length,
    hottest_gpu: temperatures.length > 0 ? Math.max(...temperatures) : null,
    fullest_disk: fullest(Object.values(disks)),
  };
}

const fullest = (disks: (DiskUse | undefined)[]): DiskUse | null =>
  disks.reduce<DiskUse | null>((a, b) => (b && (!a || b.free < a.free) ? b : a), null);
