/** An operator's view of a runner: its GPUs, containers and predictions. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { QueueState, RunnerDetail } from "../../../src/protocol/fleet.ts";
import type { RunnerToken } from "../../../src/protocol/operator.ts";
import type { RunnerEvent, RunnerHistory } from "../../../src/protocol/runner-log.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { giveUp } from "../support/accounts.ts";
import { pageAt } from "../support/catalogue.ts";
import { newDashboardUser, newOperator } from "../support/dashboard-users.ts";
import { eventually, pause } from "../support/eventually.ts";
import { registered, setAside } from "../support/fleet.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { textOf } from "../support/page-text.ts";
import { FakeRunner, sessionBody } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, operator, type World } from "../support/world.ts";

const { visitor, username } = await newOperator();

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

const detail = ({ id }: FakeRunner) =>
  operator.ok<RunnerDetail>("GET", `/v1/operator/runners/${id}`);

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

test("a runner's page shows its containers, its predictions and their accounts", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  const runner = await world.runner(2);
  const { job } = await runner.work();
  const key = job.keys.container;
  advance(20);
  const containers = [
    readyContainer({ name: "c1", key, image: "r/x@sha256:aa", gpus: 1, users: 1, idle_ms: null }),
    readyContainer({ name: "c2", key: "?", gpus: 2, phase: "starting", phase_ms: 5_000 }),
  ];
  const devices = [gpu(1, "c1"), gpu(2, null), gpu(3, null, true)];
  await runner.tellState({ free: 1, containers, devices });
  const { told, work, lost_gpus, connected } = await detail(runner);
  expect({ lost_gpus, connected }).toEqual({ lost_gpus: 1, connected: expect.any(Boolean) });
  const version = `${world.model}:1`;
  expect(told?.devices.map(({ container, lost }) => [container, lost])).toEqual([
    ["c1", false],
    [null, false],
    [null, true],
  ]);
  expect(told?.containers).toMatchObject([
    { version, phase: "ready", running: 1, room: 1, idle_since: null, waits_for_gpus: 0 },
    { version: null, phase: "starting", gpus: 2, waits_for_gpus: 2 },
  ]);
  expect(work).toEqual([
    {
      prediction_id: id,
      username: world.username,
      version,
      since: new Date(Date.now() - 20_000).toISOString(),
    },
  ]);
  const text = textOf(await look(runner));
  expect(text).toMatch(new RegExp(`${version}\\s+cpu +ready`));
  expect(text).toMatch(/waits for 2 GPUs: what has them is being stopped/);
  expect(text).toContain(`${world.username} ${version} for 20 s`);
  expect(text).toContain("A lost GPU is not listed by its driver any more");

  await runner.tellState({ free: 2, jobs: [] });
  expect((await detail(runner)).work).toEqual([]);
});

test("a runner's page shows the memory of each container, or unknown", async () => {
  const { runner } = await registered();
  const sizes = [3.5 * 2 ** 30, 300 * 2 ** 20, 0, undefined];
  await runner.tellState({
    containers: sizes.map((memory_bytes, n) =>
      readyContainer({ name: `c${n}`, key: `k${n}`, memory_bytes }),
    ),
  });
  const { told } = await detail(runner);
  expect(told?.containers.map(({ memory_bytes }) => memory_bytes)).toEqual([
    ...[3.5 * 2 ** 30, 300 * 2 ** 20, 0],
    null,
  ]);
  const [, table = ""] = (await look(runner)).split('id="containers-title"');
  const cells = [...table.matchAll(/<td[^>]* data-label="Memory">([^<]*)</g)];
  expect(cells.map(([, text]) => text)).toEqual(["3.5 GB", "300 MB", "0 MB", "unknown"]);
});

test("containers link to their models, except to those that the operator may not see", async () => {
  const linkOf = async (world: World) => {
    await world.waiting();
    const runner = await world.runner();
    const { job } = await runner.work();
    const key = job.keys.container;
    const containers = ["a", "b"].map((name) => readyContainer({ name, key }));
    await runner.tellState({ containers: [...containers, readyContainer({ key: "unknown" })] });
    const html = await look(runner);
    expect(html).toContain(`${world.model}:1`);
    const links = html.split(`<a href="/models/${world.model}">${world.model}:1</a>`);
    return { runner, links: links.length - 1 };
  };
  expect(await linkOf(await newWorld({ visibility: "private" }))).toMatchObject({ links: 0 });
  const shared = await newWorld({ visibility: "public" });
  const { runner, links } = await linkOf(shared);
  expect(links).toBe(2);
  expect((await visitor.look(`/models/${shared.model}`)).status).toBe(200);
  await shared.client.ok("DELETE", `/v1/models/${shared.model}`);
  expect(await look(runner)).not.toContain(`/models/${shared.model}"`);
});

test("the fleet page shows the accounts that wait, and the reason", async () => {
  const world = await newWorld();
  const { items: none } = await pageAt<QueueState>(operator, "/v1/operator/queues?page_size=50");
  expect(none.find(({ hardware }) => hardware === world.hardware)?.accounts).toEqual([]);
  await world.waiting();
  await world.waiting();
  const accounts = async () => {
    const { items } = await pageAt<QueueState>(operator, "/v1/operator/queues?page_size=50");
    return items.find(({ hardware }) => hardware === world.hardware)?.accounts;
  };
  await eventually(async () => expect(await accounts()).toMatchObject([{ waiting: 2 }]));
  advance(61);
  expect(await accounts()).toEqual([
    { username: world.username, waiting: 2, oldest_wait_ms: 61_000, code: "no_runner" },
  ]);
  const { html } = await visitor.look("/fleet");
  const text = textOf(html);
  expect(text).toContain(`${world.username} 2 1 min 1 s a runner that takes work`);
  expect(text).toContain(`${world.hardware} : 2 predictions wait, and no runner serves`);
});

describe("the last 24 hours", () => {
  /** Makes a runner with two GPUs, whose reports begin at the next full hour. */
  async function reporting() {
    const { runner } = await registered();
    await runner.tellState({ devices: [gpu(1, null), gpu(2, null)] });
    advance(3_600 - ((Date.now() / 1_000) % 3_600));
    const report = (used: number, running: number) =>
      runner.tell({
        running: Array.from({ length: running }, () => crypto.randomUUID()),
        load: {
          cpu: 1,
          memory_used_gb: 1,
          gpus: [used, 0].map((one) => ({ used: one, memory_used_gb: 45 * one })),
        },
      });
    const stored = () =>
      runInDurableObject(
        env.RUNNER.getByName(runner.id),
        async (_, { storage }) => [...(await storage.list({ prefix: "history:" })).keys()].length,
      );
    return { runner, report, stored };
  }

  const labelsOf = (html: string) =>
    [...html.matchAll(/aria-label="([^"]+ over 24 hours[^"]*)"/g)].map(([, label]) => label);

  test("the last 24 hours are shown as lines per GPU, also after the object was evicted", async () => {
    const { runner, report } = await reporting();
    await report(0.9, 3);
    advance(3 * 3_600);
    await report(0.1, 0);
    await evictDurableObject(env.RUNNER.getByName(runner.id));
    advance(900);
    await report(0.2, 1);
    await runner.tellState({ devices: [gpu(1, null), gpu(2, null)] });
    const html = await look(runner);
    expect(labelsOf(html)).toEqual([
      "Predictions at a time over 24 hours: 0 to 3, last known 1",
      "GPU 1 in use over 24 hours: 10% to 90%, last known 20%",
      "Memory of GPU 1 over 24 hours: 4.5 GB to 41 GB, last known 9.0 GB",
      "GPU 2 in use over 24 hours: 0% to 0%, last known 0%",
      "Memory of GPU 2 over 24 hours: 0.0 GB to 0.0 GB, last known 0.0 GB",
    ]);
    expect(textOf(html)).toContain("24 hours, as it reported: up to 3 . It has 3 slots.");
    const { step_seconds, steps } = await operator.ok<RunnerHistory>(
      "GET",
      `/v1/operator/runners/${runner.id}/history`,
    );
    const now = Date.now();
    const ago = ({ at }: { at: string }) => (now - Date.parse(at)) / 1_000;
    expect({ step_seconds, ago: steps.map(ago) }).toEqual({
      step_seconds: 300,
      ago: [3 * 3_600 + 900, 900, 0],
    });
    expect(steps.map(({ running, gpus }) => [running, ...gpus.map(({ used }) => used)])).toEqual([
      [3, 0.9, 0],
      [0, 0.1, 0],
      [1, 0.2, 0],
    ]);
    expect(steps[0]).toMatchObject({ reports: 1, gpus: [{ memory_used_gb: 40.5 }, {}] });
    advance(21 * 3_600);
    await report(0.5, 0);
    expect(labelsOf(await look(runner))[0]).toBe(
      "Predictions at a time over 24 hours: 0 to 1, last known 0",
    );
  });

  test("the last 24 hours are stored in a row per hour, 25 at most", async () => {
    const { report, stored } = await reporting();
    for (let n = 0; n < 12; n++) {
      await report(0.5, 1);
      advance(299);
    }
    expect(await stored()).toBe(0);
    for (let hour = 0; hour < 30; hour++) {
      await report(0.5, 1);
      advance(3_600);
    }
    expect(await stored()).toBe(25);
  });

  test("the last 24 hours have no line without reports, and are removed with the runner", async () => {
    const { runner, report, stored } = await reporting();
    expect(labelsOf(await look(runner))).toEqual([]);
    await report(0.5, 1);
    advance(7_200);
    await report(0.5, 1);
    await runner.tell({ state: "stopped" });
    await operator.ok("DELETE", `/v1/operator/runners/${runner.id}`);
    expect(await stored()).toBe(0);
  });
});

describe("a runner's events", () => {
  /** Returns the events as the page has them, newest first. */
  const eventsOf = async (runner: FakeRunner) => {
    const [, list = ""] =
      (await look(runner)).match(/<ol class="runner-events">(.*?)<\/ol>/s) ?? [];
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
      "Told to stop: finishing its predictions, and taking no new ones",
      "Resumed by an operator",
      "Drained by an operator",
      `Started, version ${sessionBody(hardware, name).version}`,
    ]);
    const { items } = await pageAt<RunnerEvent>(
      operator,
      `/v1/operator/runners/${again.id}/events`,
    );
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
      `Its token was revoked by ${username}`,
      "Resumed by an operator",
      `Drained by ${username}`,
    ]);
    const { items } = await pageAt<RunnerEvent>(
      operator,
      `/v1/operator/runners/${runner.id}/events`,
    );
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
    expect((await eventsOf(runner)).filter((words) => /set aside|resumed/i.test(words))).toEqual([
      `Not set aside any more: ${username} resumed it`,
    ]);
  });

  test("a runner's events have times of silence and lost processes", async () => {
    const { runner, token, hardware, name } = await registered();
    advance(120);
    await runner.tell();
    expect((await eventsOf(runner))[0]).toMatch(/^Heard from again: it had been silent since /);
    advance(120);
    const last = await FakeRunner.begin(token, hardware, name);
    expect(last.id).toBe(runner.id);
    expect((await eventsOf(last)).slice(0, 2)).toEqual([
      expect.stringMatching(/^Started/),
      expect.stringMatching(/^Its previous process was lost: it was last heard from at /),
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
      expect.stringMatching(/^Its previous process was lost: it was last heard from at /),
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
      expect((await eventsOf(runner))[0]).toMatch(
        /^Set aside, at most until .*did not connect for them$/,
      ),
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
});

test("a hostile runner's report is shown as text, up to limits", async () => {
  const world = await newWorld();
  const runner = await world.runner();
  const markup = "<script>alert(1)</script>";
  const containers = Array.from({ length: 300 }, (_, n) =>
    readyContainer({ name: `c${n}`, key: `k${n}`, image: `${markup}@${markup}`, hardware: markup }),
  );
  const devices = Array.from({ length: 256 }, (_, n) => ({
    ...gpu(n, markup),
    id: `${n}`,
    name: markup,
  }));
  await runner.tellState({ containers, devices });
  const html = await look(runner);
  expect(html).not.toContain("<script>alert");
  expect(textOf(html)).toContain("And 236 more.");
  expect(textOf(html)).toContain("And 192 more.");
  expect(html.length).toBeLessThan(200_000);
});

test("a runner's page does not wait for a pool that does not answer", async () => {
  const { runner, hardware } = await registered();
  await runner.tellState();
  expect((await detail(runner)).told).not.toBeNull();
  const stubOf = env.POOL.getByName.bind(env.POOL);
  vi.spyOn(env.POOL, "getByName").mockImplementation((name) =>
    name === hardware
      ? Object.assign(stubOf(name), { runner: () => new Promise(() => {}) })
      : stubOf(name),
  );
  const found = await detail(runner);
  expect(found).toMatchObject({ state: "ready", told: null, work: [] });
  expect(textOf(await look(runner))).toContain("did not answer within half a second");
});

test("a runner's details are refused to its own token and to other users", async () => {
  const { runner } = await registered();
  const path = `/v1/operator/runners/${runner.id}`;
  for (const part of ["", "/history", "/events", "/log"])
    expect((await runner.client.json("GET", path + part)).status).toBe(401);
  const { visitor: other } = await newDashboardUser();
  expect((await other.look(`/fleet/runners/${runner.id}`)).status).toBe(404);
  const unknown = `/v1/operator/runners/${crypto.randomUUID()}`;
  for (const part of ["", "/history", "/events", "/log"])
    expect((await operator.json("GET", unknown + part)).status).toBe(404);
  expect((await visitor.look("/fleet/runners/nobody")).status).toBe(404);
});

test("a runner that an operator drains is not shown as told to stop", async () => {
  const { runner } = await registered();
  await operator.ok("POST", `/v1/operator/runners/${runner.id}/drain`, {});
  await runner.tell({ state: "draining" });
  const text = textOf(await look(runner));
  expect(text).toContain("Drained by an operator");
  expect(text).not.toContain("Told to stop");
});
