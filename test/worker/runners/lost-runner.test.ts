/** A runner whose process or machine died: its pages and answers show nothing of it as current. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunnerDetail } from "../../../src/protocol/fleet.ts";
import type { RunnerEvent } from "../../../src/protocol/runner-log.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { pageAt } from "../support/catalogue.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { withoutAlarms } from "../support/objects.ts";
import { textOf } from "../support/page-text.ts";
import type { FakeRunner } from "../support/runner.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, operator } from "../support/world.ts";

const { visitor } = await newOperator();

beforeEach(stopClock);
afterEach(startClock);

const detail = ({ id }: FakeRunner) =>
  operator.ok<RunnerDetail>("GET", `/v1/operator/runners/${id}`);

async function look({ id }: FakeRunner) {
  const { status, html } = await visitor.look(`/fleet/runners/${id}`);
  expect(status).toBe(200);
  return textOf(html);
}

/** Makes a runner with one prediction in its only container. */
async function busy() {
  const world = await newWorld();
  const { id, job, runner } = await world.begun();
  const { container: key } = job.keys;
  await runner.tell({ running: [id] });
  await runner.tellState({
    free: 0,
    containers: [readyContainer({ key, users: 1, idle_ms: null })],
    devices: [{ id: "GPU-1", name: "NVIDIA L40S", memory_gb: 45, holder: "c1" }],
  });
  return { world, id, runner };
}

test("a silent runner's page shows its last report and the time, and nothing as running", async () => {
  timersFollowClock();
  withoutAlarms();
  const { world, runner } = await busy();
  const { reported } = await detail(runner);
  const well = await look(runner);
  expect(well).toContain("1 of 1 busy");
  expect(well).toContain("Last reported");
  expect(well).toMatch(/Phase Since Running GPUs/);

  advance(50);
  await eventually(async () => expect((await detail(runner)).connected).toBe(false));
  const silent = await look(runner);
  expect(silent).toContain("offline for < 1 min".replace("<", "&lt;"));
  const at = reported?.at.replace("T", " ").slice(0, 19);
  expect(silent).toContain(`Last reported ${at} UTC . The data below may be out of date.`);
  expect(silent).toContain("These may have finished, or been retried on another runner.");
  expect(silent).toContain(`${world.username} ${world.model}:1`);
  expect(silent).not.toMatch(/busy|Running/);
  const { html } = await visitor.look("/fleet");
  const [, row = ""] = html.split(`data-part="${runner.id} `);
  expect(textOf(row.split("</tr>")[0] ?? "")).not.toMatch(/busy|running/i);
  advance(20);
  expect((await look(runner)).replace("for 1 min", "for &lt; 1 min").replace("1 min ago", "")).toBe(
    silent.replace("less than a minute ago", ""),
  );
});

test("a prediction that waits again is not shown as work of the silent runner", async () => {
  const { id, runner } = await busy();
  expect(await detail(runner)).toMatchObject({ running: [id], work: [{ prediction_id: id }] });
  advance(20);
  await passes(31, id);
  await eventually(async () =>
    expect(await detail(runner)).toMatchObject({ running: [], work: [], connected: false }),
  );
  expect(await look(runner)).toContain("In-flight work was requeued.");
});

test("a silent runner's events say since when it is silent", async () => {
  timersFollowClock();
  const { runner } = await busy();
  const first = async () => {
    const { items } = await pageAt<RunnerEvent>(
      operator,
      `/v1/operator/runners/${runner.id}/events`,
    );
    const { kind, at } = items[0] ?? expect.fail("it has none");
    const says = (await look(runner)).includes("Lost connection");
    return { kind, at, says };
  };
  const at = (await detail(runner)).last_seen_at;
  expect(await first()).toMatchObject({ says: false });
  const silent = { kind: "fell_silent", at, says: true };
  advance(50);
  await eventually(async () => expect(await first()).toEqual(silent));
  advance(3_600);
  expect((await detail(runner)).state).toBe("offline");
  expect(await first()).toEqual(silent);
  await runner.tell();
  expect(await first()).toMatchObject({ kind: "silent", says: false });
  await runner.tell({ state: "stopped" });
  advance(3_600);
  expect(await first()).toMatchObject({ kind: "stopped", says: false });
});

test("a silent runner's log page says that it cannot be asked until it is back", async () => {
  timersFollowClock();
  const { runner } = await busy();
  const log = async () => (await visitor.look(`/fleet/runners/${runner.id}/log`)).html;
  const ask = '<button type="submit" class="quiet">';
  const well = await log();
  expect(well).toContain(ask);
  expect(well).not.toContain("data-away");
  for (const [seconds, words] of [
    [50, "Unavailable while the runner is offline."],
    [100, "Unavailable while the runner is offline."],
  ] as const) {
    advance(seconds);
    await eventually(async () => expect(textOf(await log())).toContain(words));
    const html = await log();
    expect(textOf(html)).toContain("This page loads it when the runner is back.");
    expect(html).toContain("data-away");
    expect(html).not.toContain(ask);
    expect(await look(runner)).toContain(words);
  }
  await runner.tell();
  expect(await log()).toContain(ask);
});
