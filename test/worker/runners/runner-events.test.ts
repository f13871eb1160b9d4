/** The events of a runner on its page: its process, its operators, its GPUs and containers. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RunnerToken } from "../../../src/protocol/operator.ts";
import type { RunnerEvent } from "../../../src/protocol/runner-log.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { giveUp } from "../support/accounts.ts";
import { pageAt } from "../support/catalogue.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { eventually, pause } from "../support/eventually.ts";
import { registered, setAside } from "../support/fleet.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { textOf } from "../support/page-text.ts";
import { FakeRunner, sessionBody } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, operator } from "../support/world.ts";

const { visitor, username } = await newOperator();

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

async function look({ id }: FakeRunner) {
  const { status, html } = await visitor.look(`/fleet/runners/${id}`);
  expect(status).toBe(200);
  return html;
}

const gpu = (n: number, holder: string | null, lost?: true) => ({
  id: `GPU-${n}`,
  name: "NVIDIA L40S",
  memory_gb: 45,
  holder,
  ...(lost && { lost }),
});

/** Returns the events as the page has them, newest first. */
const eventsOf = async (runner: FakeRunner) => {
  const [, list = ""] = (await look(runner)).match(/<ol class="ruled pairs">(.*?)<\/ol>/s) ?? [];
  return [...list.matchAll(/<\/time><span[^>]*>(.*?)<\/span><\/li>/gs)].map(([, words = ""]) =>
    textOf(words.replaceAll(/<\/?bdi>/g, "")).trim(),
  );
};
/** Waits until the pool has sent its news to the runner object. */
const told = async (runner: FakeRunner, ...expected: string[]) => {
  advance(31);
  await runner.tell();
  await eventually(async () =>
    expect((await eventsOf(runner)).slice(0, expected.length)).toEqual(expected),
  );
};

test("a runner's events are the actions of its process and of operators", async () => {
  const { runner, token, hardware, name } = await registered();
  await operator.ok("POST", `/v1/operator/runners/${runner.id}/drain`);
  await operator.ok("POST", `/v1/operator/runners/${runner.id}/drain`);
  advance(1);
  await operator.ok("POST", `/v1/operator/runners/${runner.id}/resume`);
  advance(1);
  await runner.tell({ state: "draining" });
  await runner.tell({ state: "draining" });
  advance(1);
  await runner.tell({ state: "stopped" });
  advance(1);
  const again = await FakeRunner.begin(token, hardware, name, 1, { version: "9.9.9" });
  expect(await eventsOf(again)).toEqual([
    "Started, version 9.9.9",
    "Stopped",
    "Stopping: finishing its predictions",
    "Resumed by an operator",
    "Drained by an operator",
    `Started, version ${sessionBody(hardware, name).version}`,
  ]);
  const { items } = await pageAt<RunnerEvent>(operator, `/v1/operator/runners/${again.id}/events`);
  const [started, stopped] = items;
  expect(started).toEqual({
    at: new Date().toISOString(),
    kind: "started",
    detail: "9.9.9",
    time: null,
    by: null,
  });
  expect(stopped).toMatchObject({ kind: "stopped", detail: null, time: null });
  expect(items.map(({ kind }) => kind)).toEqual([
    ...["started", "stopped", "stopping", "resumed", "drained", "started"],
  ]);
});

test("a runner's events name the operator, except for the operator's token", async () => {
  const { runner, token } = await registered();
  const press = async (path: string) => expect((await visitor.send(path)).status).toBe(303);
  await press(`/fleet/runners/${runner.id}/drain`);
  advance(1);
  await operator.ok("POST", `/v1/operator/runners/${runner.id}/resume`);
  advance(1);
  const tokens = await pageAt<RunnerToken>(operator, "/v1/operator/runner_tokens?page_size=50");
  const { id } = tokens.items.find(({ prefix }) => token.startsWith(prefix)) ?? {};
  await press(`/fleet/tokens/${id}/revoke`);
  expect((await eventsOf(runner)).slice(0, 3)).toEqual([
    `Token revoked by ${username}`,
    "Resumed by an operator",
    `Drained by ${username}`,
  ]);
  const { items } = await pageAt<RunnerEvent>(operator, `/v1/operator/runners/${runner.id}/events`);
  expect(items.slice(0, 3).map(({ kind, by }) => [kind, by])).toEqual([
    ["token_revoked", username],
    ["resumed", null],
    ["drained", username],
  ]);
});

test("a runner's events do not name an operator whose account is deleted", async () => {
  const { runner } = await registered();
  const leaver = await newOperator();
  await leaver.visitor.send(`/fleet/runners/${runner.id}/drain`);
  expect((await eventsOf(runner))[0]).toBe(`Drained by ${leaver.username}`);
  await giveUp(leaver);
  expect((await eventsOf(runner))[0]).toBe("Drained by an operator");
});

test("a runner's events name the operator who resumed it after it was set aside, once", async () => {
  const runner = await setAside(await newWorld());
  advance(1);
  for (const _ of "ab") await visitor.send(`/fleet/runners/${runner.id}/resume`);
  expect((await eventsOf(runner)).filter((words) => /paused|resumed/i.test(words))).toEqual([
    `Resumed by ${username} while it was paused`,
  ]);
});

test("a runner's events have times of silence and lost processes", async () => {
  const { runner, token, hardware, name } = await registered();
  advance(120);
  await runner.tell();
  expect((await eventsOf(runner))[0]).toMatch(/^Reconnected\. Offline since /);
  advance(120);
  const last = await FakeRunner.begin(token, hardware, name);
  expect(last.id).toBe(runner.id);
  expect((await eventsOf(last)).slice(0, 2)).toEqual([
    expect.stringMatching(/^Started/),
    expect.stringMatching(/^Previous process lost\. Last seen /),
  ]);
  const { items } = await pageAt<RunnerEvent>(operator, `/v1/operator/runners/${last.id}/events`);
  const time = new Date(Date.now() - 120_000).toISOString();
  expect(items[1]).toMatchObject({ kind: "lost", detail: null, time });
});

test("a runner's events call a killed process lost, also if the next one starts soon", async () => {
  const { token, hardware, name } = await registered();
  advance(5);
  const next = await FakeRunner.begin(token, hardware, name);
  expect((await eventsOf(next)).slice(0, 2)).toEqual([
    expect.stringMatching(/^Started/),
    expect.stringMatching(/^Previous process lost\. Last seen /),
  ]);
});

test("a runner's events have the changes of GPUs and containers every 30 s", async () => {
  timersFollowClock();
  const world = await newWorld();
  const runner = await world.runner(2);
  const at = (...containers: string[]) =>
    runner.tellState({
      devices: [
        gpu(1, null),
        gpu(2, null, ...(containers.includes("lost") ? [true as const] : [])),
      ],
      containers: containers
        .filter((one) => one !== "lost")
        .map((image) =>
          readyContainer({ name: image, key: image, image, version: `demo/${image}:1` }),
        ),
    });
  await at("first");
  await at("second", "lost");
  await told(
    runner,
    "Container started: demo/second:1",
    "Container stopped: demo/first:1",
    "Lost GPU 2, NVIDIA L40S",
  );
  const before = (await eventsOf(runner)).length;
  await at("second");
  await at("second", "lost");
  await at("second", "third", "lost");
  await told(runner, "Container started: demo/third:1");
  expect(await eventsOf(runner)).toHaveLength(before + 1);
  await at("second", "third");
  await told(runner, "GPU 2, NVIDIA L40S is back");
});

test("a runner's events say until when it is set aside", async () => {
  timersFollowClock();
  const world = await newWorld();
  const runner = await setAside(world);
  await runner.tellState();
  advance(31);
  await runner.tell();
  await eventually(async () =>
    expect((await eventsOf(runner))[0]).toMatch(/^Paused until .*did not start them$/),
  );
});

test("a hostile runner's events stay few", async () => {
  timersFollowClock();
  const { runner } = await registered();
  await runner.tellState();
  for (let n = 0; n < 8; n++) {
    const containers = Array.from({ length: 300 }, (_, m) =>
      readyContainer({ name: `${n} ${m}`, key: `${n} ${m}`, image: "<b>".padEnd(200, `${m}`) }),
    );
    await runner.tellState({ containers });
    advance(31);
    await pause(20);
  }
  const html = await look(runner);
  expect((await eventsOf(runner)).length).toBe(12);
  // The 12 events include the runner's silence.
  expect(textOf(html)).toContain("30 earlier events");
  expect(html).not.toContain("<b>");
});
