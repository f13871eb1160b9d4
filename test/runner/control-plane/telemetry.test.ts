/** Times at which a runner reports: at intervals, and when its running jobs have changed. */
import { expect, test, vi } from "vitest";
import { Telemetry } from "../../../runner/src/control-plane/telemetry.ts";
import { silentLog } from "../support/samples.ts";

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
    load: async () => ({ cpu: 0, memory_used_gb: 0 }),
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
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(reports).toHaveLength(1);
  await stop();
});
