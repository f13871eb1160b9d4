/** Values that the runner's tests share. */

import type { Executor, Reservation } from "../../../runner/src/jobs/executor.ts";
import type { Log } from "../../../runner/src/lib/log.ts";
import type { Job, RunnerSettings } from "../../../src/protocol/runner.ts";

export const settings: RunnerSettings = {
  poll_seconds: 5,
  ping_seconds: 10,
  lease_seconds: 30,
  telemetry_seconds: 30,
};

let count = 0;

export function jobOrder(changes: Partial<Job> = {}): Job {
  const suffix = String(++count).padStart(12, "0");
  return {
    prediction_id: `01990000-0000-7000-8000-${suffix}`,
    attempt: 1,
    handout: count,
    stop: [],
    lease: `lease-${suffix}`,
    model: { owner: "ada", name: "hello", version_number: 1 },
    image: { repository: "registry.test/ada/hello", digest: `sha256:${"a".repeat(64)}` },
    keys: { container: "c", files: "f" },
    hardware: { identifier: "cpu", gpus: 0 },
    egress: "public",
    interface: "cog",
    call: null,
    variables: {},
    setup_logs: true,
    measure: false,
    limits: { idle_seconds: 60, max_concurrency: 1, output_bytes: 1_000_000, logs_bytes: 10_000 },
    input: { text: "hi" },
    files: [],
    ...changes,
  };
}

export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silentLog,
};

export const fakeReservation = (run: Reservation["run"]): Reservation => ({ run, leave: () => {} });

export const fakeExecutor = (run: Reservation["run"]): Executor => ({
  open: async () => {},
  warm: () => [],
  images: () => [],
  state: () => ({ containers: [], devices: [], disks: {}, max_containers: 1 }),
  serving: () => [],
  storage: async () => ({ disks: {}, caches: {} }),
  keep() {},
  measured: () => [],
  onChange() {},
  reserve: () => fakeReservation(run),
  run,
  close: async () => {},
});
