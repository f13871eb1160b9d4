/** A runner's own log, which an operator asks for on the runner's page. */
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  MAX_RUNNER_LOG_BYTES,
  MAX_RUNNER_LOG_LINE,
  type RunnerLog,
  type RunnerLogLine,
} from "../../../src/protocol/runner-log.ts";
import { newDashboardUser, newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { registered } from "../support/fleet.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { textOf } from "../support/page-text.ts";
import { FakeRunner } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { operator } from "../support/world.ts";

const { visitor } = await newOperator();

beforeEach(stopClock);
afterEach(startClock);

const AT = Date.UTC(2026, 0, 2, 3, 4, 5);
const line = (text: string, level: RunnerLogLine["level"] = "info") => ({ at: AT, level, text });

const send = (
  { client, id: runner_id, session, pool }: FakeRunner,
  lines: unknown,
  changes: object = {},
) => client.json("POST", "/v1/runner/log", { runner_id, session, pool, lines, ...changes });

const press = ({ id }: FakeRunner) => visitor.send(`/fleet/runners/${id}/log`);

/** Presses the button of a runner that does not answer within the 3 s that the page waits. */
async function pressInVain(runner: FakeRunner) {
  const elapse = holdTimers(3_000);
  const pressed = press(runner);
  await eventually(() => expect(elapse.count()).toBe(1));
  elapse();
  return pressed;
}

async function look({ id }: FakeRunner) {
  const { status, html } = await visitor.look(`/fleet/runners/${id}/log`);
  expect(status).toBe(200);
  return html;
}

test("a polling runner is asked for its log at once, and the page shows it", async () => {
  const { runner } = await registered();
  await runner.tellState();
  const poll = runner.poll();
  expect(textOf(await look(runner))).toContain("Not loaded yet.");
  const pressed = press(runner);
  expect(await (await poll).json()).toEqual({ jobs: [], log: true });
  expect((await send(runner, [line("registered"), line("<b>disk</b> full", "warn")])).status).toBe(
    200,
  );
  expect(await pressed).toMatchObject({ status: 303, location: `/fleet/runners/${runner.id}/log` });

  const html = await look(runner);
  const text = textOf(html);
  expect(text).toContain("Last 2 lines, as of");
  expect(text).toContain("03:04:05");
  expect(html).toContain("&lt;b&gt;disk&lt;/b&gt; full");
  expect(text).toContain("Refresh");
  const file = await visitor.look(`/fleet/runners/${runner.id}/log.txt`);
  expect(file.html).toBe(
    "2026-01-02T03:04:05.000Z info  registered\n2026-01-02T03:04:05.000Z warn  <b>disk</b> full\n",
  );

  advance(600);
  const later = await look(runner);
  expect(textOf(later)).toContain("Unavailable while the runner is offline");
  expect(later).not.toContain("registered");
  const empty = await visitor.look(`/fleet/runners/${runner.id}/log.txt`);
  expect(empty.html).toMatch(/^The log is not loaded\. Request it at http.*\/log\n$/);
});

test("a full runner is asked for its log with each snapshot until it answers", async () => {
  const { runner } = await registered();
  expect((await runner.tellState({ free: 0 })).body).toEqual({ wanted: false });
  expect((await pressInVain(runner)).status).toBe(303);
  expect(textOf(await look(runner))).toContain("This can take up to 30 seconds.");
  for (const _ of "ab")
    expect((await runner.tellState({ free: 0 })).body).toEqual({ wanted: false, log: true });
  await send(runner, [line("full")]);
  expect((await runner.tellState({ free: 0 })).body).toEqual({ wanted: false });
  expect(textOf(await look(runner))).toContain("Last line, as of");
});

test("a runner that does not send its log is asked for a minute, and the page says so", async () => {
  const { runner } = await registered();
  await runner.tellState();
  await pressInVain(runner);
  advance(61);
  await runner.tell();
  expect((await runner.tellState()).body).toEqual({ wanted: false });
  expect(textOf(await look(runner))).toContain("but the runner has not answered");
  expect((await send(runner, [line("late")])).status).toBe(200);
  expect(await look(runner)).not.toContain("late</span>");
});

test("a log that was not asked for is dropped, and one that was has limits", async () => {
  const { runner } = await registered();
  await runner.tellState();
  expect((await send(runner, [line("unasked")])).status).toBe(200);
  expect(textOf(await look(runner))).toContain("Not loaded yet.");
  await pressInVain(runner);
  const long = line("x".repeat(MAX_RUNNER_LOG_LINE));
  for (const lines of [
    Array.from({ length: 501 }, () => line("")),
    Array.from({ length: 33 }, () => long),
    [line("x".repeat(MAX_RUNNER_LOG_LINE + 1))],
    [{ ...line("never"), at: 1e15 }],
    "text",
  ])
    expect((await send(runner, lines)).status).toBe(422);
  const huge = "x".repeat(MAX_RUNNER_LOG_BYTES);
  expect((await send(runner, [], { huge })).status).toBe(413);
  await send(runner, [line("one\ntwo \u001b[31m\u202ered")]);
  expect(textOf(await look(runner))).toContain("onetwo [31mred");
  // A second log was not asked for.
  await send(runner, [line("a second one")]);
  expect(await look(runner)).not.toContain("a second one");
});

test("a runner cannot send another runner's log", async () => {
  const mine = await registered();
  const theirs = await registered();
  await theirs.runner.tellState();
  await pressInVain(theirs.runner);
  const forged = [line("forged")];
  expect((await send(mine.runner, forged, { runner_id: theirs.runner.id })).status).toBe(404);
  expect((await send(mine.runner, forged, { pool: theirs.runner.pool })).status).toBe(403);
  const old = theirs.runner;
  await (await FakeRunner.begin(theirs.token, theirs.hardware, theirs.name)).tellState();
  expect((await send(old, forged)).status).toBe(409);
  expect(textOf(await look(theirs.runner))).not.toContain("forged");
});

test("a runner is asked for its log once, however often operators press", async () => {
  const { runner } = await registered();
  await runner.tellState();
  const poll = runner.poll();
  const presses = Array.from({ length: 20 }, () => press(runner));
  expect(await (await poll).json()).toEqual({ jobs: [], log: true });
  await send(runner, [line("once")]);
  await Promise.all(presses);
  // The log is fresh, so this press does not ask for it either.
  await press(runner);
  expect((await runner.tellState()).body).toEqual({ wanted: false });
});

test("the API asks for a runner's log as the page does, and returns the same lines", async () => {
  const { runner } = await registered();
  await runner.tellState();
  const path = `/v1/operator/runners/${runner.id}/log`;
  const none = { waiting: false, asked_at: null, sent_at: null, lines: [] };
  expect(await operator.ok("GET", path)).toEqual(none);
  const asked_at = new Date().toISOString();
  // The runner does not answer within 3 s.
  const waiting = { ...none, waiting: true, asked_at };
  const elapse = holdTimers(3_000);
  const asking = operator.ok("POST", path);
  await eventually(() => expect(elapse.count()).toBe(1));
  elapse();
  expect(await asking).toEqual(waiting);
  expect(await operator.ok("GET", path)).toEqual(waiting);
  await send(runner, [line("registered"), line("disk full", "warn")]);
  const at = "2026-01-02T03:04:05.000Z";
  const lines = [
    { at, level: "info", text: "registered" },
    { at, level: "warn", text: "disk full" },
  ];
  expect(await operator.ok("GET", path)).toEqual({ ...none, sent_at: asked_at, lines });
  expect(textOf(await look(runner))).toContain("disk full");

  advance(61);
  await runner.tell();
  const again = operator.ok("POST", path);
  await eventually(() => expect(elapse.count()).toBe(1));
  elapse();
  await again;
  advance(61);
  await runner.tell();
  const late = await operator.ok<RunnerLog>("GET", path);
  expect(late).toMatchObject({ waiting: false, asked_at: expect.any(String), sent_at: asked_at });
});

test("a runner's log can be read and asked for by operators only", async () => {
  const { runner } = await registered();
  await runner.tellState();
  const { visitor: other } = await newDashboardUser();
  const path = `/fleet/runners/${runner.id}/log`;
  for (const one of [path, `${path}.txt`]) expect((await other.look(one)).status).toBe(404);
  expect((await other.send(path)).status).toBe(404);
  expect((await runner.tellState()).body).toEqual({ wanted: false });
  expect((await visitor.look("/fleet/runners/nobody/log")).status).toBe(404);
});
