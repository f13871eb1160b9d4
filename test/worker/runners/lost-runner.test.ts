/** A runner whose process or machine died: its pages and answers show nothing of it as current. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { withoutAlarms } from "../support/objects.ts";
import { textOf } from "../support/page-text.ts";
import { busy, detail, lookAt } from "../support/silent-runners.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";

const { visitor } = await newOperator();

beforeEach(stopClock);
afterEach(startClock);

test("a silent runner's page shows its last report and the time, and nothing as running", async () => {
  timersFollowClock();
  withoutAlarms();
  const { world, runner } = await busy();
  const { reported } = await detail(runner);
  const well = await lookAt(visitor, runner);
  expect(well).toContain("1 of 1 busy");
  expect(well).toContain("Last reported");
  expect(well).toMatch(/Phase Since Running GPUs/);

  advance(50);
  await eventually(async () => expect((await detail(runner)).connected).toBe(false));
  const silent = await lookAt(visitor, runner);
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
  expect(
    (await lookAt(visitor, runner)).replace("for 1 min", "for &lt; 1 min").replace("1 min ago", ""),
  ).toBe(silent.replace("less than a minute ago", ""));
});

test("a prediction that waits again is not shown as work of the silent runner", async () => {
  const { id, runner } = await busy();
  expect(await detail(runner)).toMatchObject({ running: [id], work: [{ prediction_id: id }] });
  advance(20);
  await passes(31, id);
  await eventually(async () =>
    expect(await detail(runner)).toMatchObject({ running: [], work: [], connected: false }),
  );
  expect(await lookAt(visitor, runner)).toContain("In-flight work was requeued.");
});
