/** A runner's snapshot, for tests that speak its protocol themselves. */
import { MAX_CONTAINERS, type RunnerSnapshot } from "../../src/protocol/runner-state.ts";

/** Returns a snapshot, by default that of a runner that has just started, with room for one job. */
export const runnerSnapshot = (changes: Partial<RunnerSnapshot> = {}): RunnerSnapshot => ({
  number: 1,
  handed: 0,
  slots: 1,
  jobs: [],
  max_containers: MAX_CONTAINERS,
  devices: [],
  disks: {},
  containers: [],
  measured: [],
  declined: [],
  receipts: [],
  ...changes,
});

/** Returns a container that is ready. */
export const readyContainer = (
  changes: Partial<RunnerSnapshot["containers"][number]> = {},
): RunnerSnapshot["containers"][number] => ({
  name: "ready",
  key: "c",
  image: "registry.example.com/ada/story@sha256:aa",
  hardware: "cpu",
  gpus: 0,
  phase: "ready",
  phase_ms: 1_000,
  idle_ms: 1_000,
  users: 0,
  max_concurrency: 1,
  runs_ms: [],
  ...changes,
});
