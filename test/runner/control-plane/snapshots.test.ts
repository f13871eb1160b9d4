import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Snapshots } from "../../../runner/src/control-plane/snapshots.ts";
import { Telemetry } from "../../../runner/src/control-plane/telemetry.ts";
import { ControlPlaneError } from "../../../runner/src/lib/error.ts";
import { silentLog } from "../support/samples.ts";

/** Returns snapshots, each of which waits for its answer when it is sent. */
function setup() {
  const sent: ((answer: boolean | Error) => void)[] = [];
  const stop = new AbortController();
  const snapshots = new Snapshots({
    send: () =>
      new Promise((resolve, reject) => {
        sent.push((answer) =>
          typeof answer === "boolean" ? resolve({ wanted: answer }) : reject(answer),
        );
      }),
    log: silentLog,
  });
  const run = snapshots.run(stop.signal);
  return { snapshots, sent, stop, run };
}

let it: ReturnType<typeof setup>;
beforeEach(() => {
  vi.useFakeTimers();
  it = setup();
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test("a change is sent at once, and the changes of the next 200 ms are sent together", async () => {
  await pass(0);
  expect(it.sent).toHaveLength(0);
  it.snapshots.changed();
  await pass(0);
  expect(it.sent).toHaveLength(1);
  it.sent[0]?.(false);
  it.snapshots.changed();
  it.snapshots.changed();
  await pass(199);
  expect(it.sent).toHaveLength(1);
  await pass(1);
  expect(it.sent).toHaveLength(2);
  it.sent[1]?.(false);
  await pass(10_000);
  expect(it.sent).toHaveLength(2);
});

test("changes are sent at once while jobs wait, one after the other", async () => {
  it.snapshots.changed();
  await pass(0);
  it.snapshots.changed();
  await pass(500);
  expect(it.sent).toHaveLength(1);
  it.sent[0]?.(true);
  await pass(0);
  expect(it.sent).toHaveLength(2);
});

test("a change that a poll has sent is not sent again", async () => {
  await pass(0);
  it.snapshots.reported();
  it.snapshots.changed();
  it.snapshots.reported();
  await pass(1_000);
  expect(it.sent).toHaveLength(0);
  it.snapshots.changed();
  await pass(0);
  expect(it.sent).toHaveLength(1);
});

test("a change that did not arrive is sent again, later each time", async () => {
  it.snapshots.changed();
  await pass(0);
  it.sent[0]?.(new Error("no network"));
  await pass(240);
  expect(it.sent).toHaveLength(1);
  await pass(260);
  expect(it.sent).toHaveLength(2);
  it.sent[1]?.(new Error("no network"));
  await pass(490);
  expect(it.sent).toHaveLength(2);
  await pass(510);
  expect(it.sent).toHaveLength(3);
});

test("a snapshot is sent every 30 s, unless a poll has sent one", async () => {
  await pass(29_999);
  expect(it.sent).toHaveLength(0);
  it.snapshots.reported();
  await pass(29_999);
  expect(it.sent).toHaveLength(0);
  await pass(2);
  expect(it.sent).toHaveLength(1);
});

test("snapshots end with their signal, and with their session", async () => {
  it.stop.abort();
  await it.run;
  const other = setup();
  other.snapshots.changed();
  await pass(0);
  const gone = new ControlPlaneError("session unknown", { status: 404 });
  other.sent[0]?.(gone);
  await expect(other.run).rejects.toBe(gone);
});

const HOUR_MS = 3_600_000;

function telemetry(minIntervalMs: number) {
  const running: string[] = [];
  const reports: string[][] = [];
  const end = new AbortController();
  const it = new Telemetry({
    intervalMs: HOUR_MS,
    minIntervalMs,
    state: () => ({
      runner_id: "r",
      session: "s",
      state: "ready",
      slots: 2,
      running: [...running],
      warm: [],
    }),
    load: () => ({ cpu: 0, memory_used_gb: 0 }),
    report: async ({ running }) => {
      reports.push(running);
      return { draining: false };
    },
    onAnswer: () => {},
    log: silentLog,
  });
  const run = it.run(end.signal);
  const seen = (count: number) =>
    vi.waitFor(() => expect(reports).toHaveLength(count), { interval: 1 });
  return {
    it,
    running,
    reports,
    seen,
    stop: async () => {
      end.abort();
      await run;
    },
  };
}

test("a change is reported before the hour is over, also if it came while the last report was sent", async () => {
  const { it, running, reports, seen, stop } = telemetry(1);
  running.push("a");
  it.wake();
  await seen(2);
  running.push("b");
  it.wake();
  await seen(3);
  expect(reports).toEqual([[], ["a"], ["a", "b"]]);
  await stop();
});

test("reports have a minimum interval, however often the state changes", async () => {
  const { it, reports, seen, stop } = telemetry(HOUR_MS);
  await seen(1);
  for (let n = 0; n < 100; n++) it.wake();
  await vi.advanceTimersByTimeAsync(20);
  expect(reports).toHaveLength(1);
  await stop();
});
