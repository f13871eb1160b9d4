/** Alerts about the fleet that an operator sees. */
import { expect, test } from "vitest";
import { fleetAlerts } from "../../../src/domain/alerts/fleet.ts";
import type { QueueState, RunnerState } from "../../../src/protocol/fleet.ts";

const NOW = Date.parse("2026-07-01T12:00:00.000Z");
const ago = (seconds: number) => new Date(NOW - 1_000 * seconds).toISOString();

const runner = (changes: Partial<RunnerState> = {}): RunnerState => ({
  id: "0197c000-0000-7000-8000-000000000001",
  name: "rack-1",
  hardware: ["l40s"],
  pool: "l40s",
  version: "1.0.0",
  latest_version: "1.0.0",
  outdated: false,
  engine: "docker",
  state: "ready",
  draining: false,
  draining_since: null,
  revoked: false,
  set_aside_until: null,
  set_aside_reason: null,
  failed_starts: null,
  started_at: ago(3_600),
  last_seen_at: ago(40),
  connected: true,
  lost_gpus: 0,
  gpu_celsius: 61,
  disk: { free_bytes: 400e9, total_bytes: 960e9 },
  machine: { cpus: 8, memory_gb: 64, gpus: [0, 1].map(() => ({ name: "L40S", memory_gb: 45 })) },
  load: null,
  slots: 1,
  running: [],
  warm: [],
  ...changes,
});

const queue = (changes: Partial<QueueState> = {}): QueueState => ({
  hardware: "l40s",
  pool: "l40s",
  waiting: 0,
  free: 0,
  oldest_wait_ms: null,
  median_wait_ms: null,
  reasons: [],
  accounts: [],
  ...changes,
});

const alerts = (runners: RunnerState[], queues: QueueState[], complete = true) =>
  fleetAlerts({ runners, queues, complete }, NOW);

const of = (changes: Partial<RunnerState>) => alerts([runner(changes)], [queue()]);

test("a healthy fleet has no alerts", () => {
  expect(of({})).toEqual([]);
  expect(of({ state: "stopped", connected: false })).toEqual([]);
  expect(of({ state: "draining", connected: false })).toEqual([]);
  expect(of({ draining: true, connected: false })).toEqual([]);
});

test("a runner that is gone is an error after 2 minutes, or once predictions need it", () => {
  const gone = { connected: false, last_seen_at: ago(119) };
  const late = { connected: false, last_seen_at: ago(120) };
  const error = [{ level: "bad", name: "rack-1", text: "Offline. Last seen about 2 min ago." }];
  for (const state of ["ready", "offline"] as const) {
    expect(of({ ...gone, state })).toEqual([]);
    expect(of({ ...late, state })).toMatchObject(error);
    expect(alerts([runner({ ...gone, state })], [queue({ waiting: 1 })])).toContainEqual(
      expect.objectContaining(error[0]),
    );
  }
  expect(of({ ...late, draining: true })).toEqual([]);
  expect(of({ ...late, draining: true, running: ["a"] })).toMatchObject([{ level: "bad" }]);
  expect(of({ ...late, connected: true })).toEqual([]);
  expect(of({ ...late, connected: null, last_seen_at: ago(9) })).toEqual([]);
});

test("a runner that still runs predictions an hour after it was drained causes a warning", () => {
  const drained = { draining: true, draining_since: ago(3_600), connected: true, running: ["a"] };
  expect(of(drained)).toMatchObject([
    { level: "warning", text: "Draining for about 60 min, with 1 prediction still running." },
  ]);
  expect(of({ ...drained, running: [] })).toEqual([]);
  expect(of({ ...drained, draining_since: ago(3_599) })).toEqual([]);
});

test("a runner that is lost with predictions comes first, and is forgotten after a day", () => {
  const lost = runner({ state: "offline", connected: false, running: ["a", "b"] });
  const old = runner({ name: "rack-2", outdated: true });
  expect(alerts([old, lost], [])).toMatchObject([
    { level: "bad", name: "rack-1", text: expect.stringContaining("Its 2 predictions will be") },
    { level: "warning", text: "1 runner is out of date: rack-2." },
  ]);
  expect(of({ state: "offline", last_seen_at: ago(86_400) })).toEqual([]);
  expect(of({ state: "offline", last_seen_at: null })).toEqual([]);
});

test("a runner whose token was revoked is not missed", () => {
  expect(of({ state: "offline", revoked: true, running: ["a"] })).toEqual([]);
});

test("a class without runners causes no alert when not all runners were looked at", () => {
  const alone = queue({ hardware: "h100", waiting: 1 });
  expect(alerts([runner()], [alone], false)).toMatchObject([
    { level: "warning", text: expect.stringMatching(/^Only the newest 200 runners/) },
  ]);
});

test("lost GPUs and runners that are set aside cause alerts", () => {
  expect(of({ lost_gpus: 1, set_aside_until: ago(-60) })).toMatchObject([
    { level: "bad", text: "Lost 1 of 2 GPUs.", help: { address: "/docs/runners#when-gpus-fail" } },
    { level: "warning", text: expect.stringMatching(/^Paused/) },
  ]);
});

test("a GPU above 90 °C causes a warning, while the runner is there to tell", () => {
  const rule = "gpu_hot";
  const text = "Its hottest GPU is at 91 °C.";
  expect(of({ gpu_celsius: 91.2 })).toMatchObject([{ rule, level: "warning", text }]);
  expect(of({ gpu_celsius: 90 })).toEqual([]);
  expect(of({ gpu_celsius: null })).toEqual([]);
  expect(of({ gpu_celsius: 91, state: "offline", connected: true })).toEqual([]);
});

test("a disk with less than 5 % or 10 GB free, whichever is less, causes a warning", () => {
  const full = (free_bytes: number, total_bytes: number) =>
    of({ disk: { free_bytes, total_bytes } });
  expect(full(4.9e9, 100e9)).toMatchObject([
    { rule: "disk_full", level: "warning", text: "Its disk has 4.9 GB of 100 GB free." },
  ]);
  expect(full(5e9, 100e9)).toEqual([]);
  expect(full(9.9e9, 4e12)).toMatchObject([{ rule: "disk_full" }]);
  expect(full(10e9, 4e12)).toEqual([]);
  expect(full(0, 1)).toMatchObject([{ rule: "disk_full" }]);
});

test("a runner whose machine fails to start containers causes an alert, set aside or not", () => {
  const reason = "the disk of the runner's machine is full";
  const failed_starts = { times: 3, reason, at: ago(5) };
  const broken = { failed_starts, set_aside_until: ago(-60), set_aside_reason: reason };
  const other = runner({ id: "0197c000-0000-7000-8000-000000000002" });
  expect(alerts([runner(broken), other], [])).toMatchObject([
    {
      level: "bad",
      text: expect.stringMatching(/^Paused .*: the disk .* is full\. Auspex retries/),
    },
  ]);
  expect(alerts([runner(broken)], [queue({ waiting: 2 })])).toMatchObject([
    { name: "l40s", text: expect.stringMatching(/^2 predictions queued\. Every .* or paused/) },
    { name: "rack-1", text: expect.stringContaining("No other runner accepts l40s work.") },
  ]);
  expect(of({ failed_starts })).toMatchObject([
    { level: "bad", text: `The last 3 container starts failed: ${reason}.` },
  ]);
  expect(of({ failed_starts: { ...failed_starts, times: 2 } })).toEqual([]);
});

test("a class without runners causes an alert, and so does one whose predictions wait too long", () => {
  const reasons: QueueState["reasons"] = [
    { code: "busy", waiting: 3, accounts: 1, runners: [], message: "All 4 GPUs are busy." },
  ];
  const alone = queue({ hardware: "h100", waiting: 1 });
  const long = queue({ waiting: 3, oldest_wait_ms: 840_000, reasons });
  expect(alerts([runner()], [alone, long])).toMatchObject([
    { name: "h100", text: "1 prediction queued. No runner serves this hardware." },
    { name: "l40s", text: "3 predictions queued (longest about 14 min). All 4 GPUs are busy." },
  ]);
  expect(alerts([runner()], [{ ...long, waiting: 1 }])).toMatchObject([
    { text: expect.stringMatching(/^1 prediction queued \(longest/) },
  ]);
  const short = queue({ waiting: 3, oldest_wait_ms: 599_000, reasons });
  expect(alerts([runner()], [short])).toEqual([]);
});

test("an alert about many outdated runners names the first ones", () => {
  const runners = ["a", "b", "c", "d", "e", "f", "g"].map((name) =>
    runner({ name, outdated: true }),
  );
  expect(alerts(runners, [])).toEqual([
    { level: "warning", text: "7 runners are out of date: a, b, c, d, e and 2 more." },
  ]);
});

test("predictions that wait for runners that take no work are the worst alert at once", () => {
  const waits = queue({ waiting: 2, oldest_wait_ms: 1_000 });
  for (const changes of [{ state: "offline" }, { draining: true }, { state: "stopped" }] as const)
    expect(alerts([runner(changes)], [waits])[0]).toMatchObject({
      level: "bad",
      name: "l40s",
      text: "2 predictions queued. Every runner is offline, stopped, draining, or paused.",
    });
  const about = (others: Partial<RunnerState>) =>
    alerts([runner({ state: "offline" }), runner(others)], [waits]).map((one) => one.about);
  for (const state of ["ready", "unknown"] as const)
    expect(about({ state })).not.toContainEqual({ hardware: "l40s" });
});
