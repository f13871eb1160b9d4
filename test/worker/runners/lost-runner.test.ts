/** A runner whose process or machine died: its pages and answers show nothing of it as current. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunnerDetail } from "../../../src/protocol/fleet.ts";
import type { RunnerEvent } from "../../../src/protocol/runner-log.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { pageAt } from "../support/catalogue.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
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
  const { world, runner } = await busy();
  const { reported } = await detail(runner);
  const well = await look(runner);
  expect(well).toContain("1 of 1 busy");
  expect(well).toContain("Reported by the runner at");
  expect(well).toMatch(/Phase Since Running GPUs/);

  advance(50);
  await eventually(async () => expect((await detail(runner)).connected).toBe(false));
  const silent = await look(runner);
  expect(silent).toContain("not heard from for 50 s");
  const at = reported?.at.replace("T", " ").slice(0, 19);
  expect(silent).toContain(`Last reported by the runner at ${at} UTC : what follows is as of then`);
  expect(silent).toContain("It had these when it was last heard from.");
  expect(silent).toContain(`${world.username} ${world.model}:1`);
  expect(silent).not.toMatch(/busy|Running/);
  const { html } = await visitor.look("/fleet");
  const [, card = ""] = html.split(`id="runner-${runner.id}"`);
  expect(textOf(card.split("</li>")[0] ?? "")).not.toMatch(/busy|Running/);
  advance(20);
  expect((await look(runner)).replace("1 min 10 s", "50 s").replace("1 min ago", "")).toBe(
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
  expect(await look(runner)).toContain("None is counted on it");
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
    const says = (await look(runner)).includes("Fell silent: nothing was heard from it after this");
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
    [50, "The runner is not heard from, so it cannot be asked for its log."],
    [100, "The runner is offline, so it cannot be asked for its log."],
  ] as const) {
    advance(seconds);
    await eventually(async () => expect(textOf(await log())).toContain(words));
    const html = await log();
    expect(textOf(html)).toContain("This page asks it again once it is back.");
    expect(html).toContain("data-away");
    expect(html).not.toContain(ask);
    expect(await look(runner)).toContain(words);
  }
  await runner.tell();
  expect(await log()).toContain(ask);
});
