/** What operators see of a runner that its pool knows. */
import type { ContainerNames } from "./container-names.ts";
import type { PoolRunner } from "./pool-runner.ts";
import type { RunnerCondition, ToldRunner } from "./rpc-types.ts";

/** A runner that is full does not poll. It tells how it is every 30 s. */
const TELL_MS = 45_000;

/** At most 256 devices, 512 containers and 2,000 jobs (protocol/runner-state.ts). */
export function toldOf(runner: PoolRunner, names: ContainerNames): ToldRunner {
  const { snapshot, toldAt, work } = runner;
  return {
    at: toldAt,
    max_containers: snapshot.max_containers,
    devices: snapshot.devices,
    containers: snapshot.containers.map(
      ({ key, version, phase_ms, idle_ms, runs_ms: _, ...container }) => ({
        ...container,
        model: version ?? names.find(key)?.model?.name ?? null,
        since: toldAt - phase_ms,
        idle_since: idle_ms === null ? null : toldAt - idle_ms,
      }),
    ),
    jobs: work.map(({ number: _, ...job }) => job),
  };
}

export const conditionOf = (
  runner: PoolRunner,
  now: number,
): Omit<RunnerCondition, "failed_starts"> => ({
  heard_at: runner.heardAt,
  connected:
    runner.isExpected || (runner.isFull && !runner.isMissing && now - runner.heardAt < TELL_MS),
  lost_gpus: runner.snapshot.devices.filter(({ lost }) => lost).length,
});
