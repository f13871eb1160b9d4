/** A silent runner's pages of its log and events. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunnerEvent } from "../../../src/protocol/runner-log.ts";
import { pageAt } from "../support/catalogue.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { textOf } from "../support/page-text.ts";
import { busy, detail, lookAt } from "../support/silent-runners.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { operator } from "../support/world.ts";

const { visitor } = await newOperator();

beforeEach(stopClock);
afterEach(startClock);

test("a silent runner's events say since when it is silent", async () => {
  timersFollowClock();
  const { runner } = await busy();
  const first = async () => {
    const { items } = await pageAt<RunnerEvent>(
      operator,
      `/v1/operator/runners/${runner.id}/events`,
    );
    const { kind, at } = items[0] ?? expect.fail("it has none");
    const says = (await lookAt(visitor, runner)).includes("Lost connection");
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
    expect(await lookAt(visitor, runner)).toContain(words);
  }
  await runner.tell();
  expect(await log()).toContain(ask);
});
