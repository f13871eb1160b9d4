/** An operator's view of a runner: its GPUs, containers and predictions. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { QueueState, RunnerDetail } from "../../../src/protocol/fleet.ts";
import type { RunnerHistory } from "../../../src/protocol/runner-log.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { pageAt } from "../support/catalogue.ts";
import { newDashboardUser, newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { registered } from "../support/fleet.ts";
import { textOf } from "../support/page-text.ts";
import type { FakeRunner } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, operator, type World } from "../support/world.ts";

const { visitor } = await newOperator();

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
  const { reported, work, lost_gpus, connected } = await detail(runner);
  expect({ lost_gpus, connected }).toEqual({ lost_gpus: 1, connected: expect.any(Boolean) });
  const version = `${world.model}:1`;
  expect(reported?.devices.map(({ container, lost }) => [container, lost])).toEqual([
    ["c1", false],
    [null, false],
    [null, true],
  ]);
  expect(reported?.containers).toMatchObject([
    {
      version,
      phase: "ready",
      running: 1,
      max_concurrency: 1,
      idle_since: null,
      waits_for_gpus: 0,
    },
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
  expect(text).toMatch(/waiting for 2 GPUs to be released/);
  expect(text).toContain(`${world.username} ${version} for 20 s`);
  expect(text).toContain("A lost GPU has failed");

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
  const { reported } = await detail(runner);
  expect(reported?.containers.map(({ memory_bytes }) => memory_bytes)).toEqual([
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
  expect(text).toContain(`${world.username} 2 1 min 1 s A runner to come online`);
  expect(text).toContain(`${world.hardware} 2 predictions queued. No runner serves`);
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
    [...html.matchAll(/<title>([^<]+, last 24h:[^<]*)</g)].map(([, label]) => label);

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
      "Concurrent predictions, last 24h: 0 to 3, now 1",
      "GPU 1 use, last 24h: 10% to 90%, now 20%",
      "GPU 1 memory, last 24h: 4.5 GB to 41 GB, now 9.0 GB",
      "GPU 2 use, last 24h: 0% to 0%, now 0%",
      "GPU 2 memory, last 24h: 0.0 GB to 0.0 GB, now 0.0 GB",
    ]);
    expect(textOf(html)).toContain("Concurrent predictions, last 24h. Peak 3 of 3");
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
    expect(labelsOf(await look(runner))[0]).toBe("Concurrent predictions, last 24h: 0 to 1, now 0");
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
  expect((await detail(runner)).reported).not.toBeNull();
  const stubOf = env.POOL.getByName.bind(env.POOL);
  vi.spyOn(env.POOL, "getByName").mockImplementation((name) =>
    name === hardware
      ? Object.assign(stubOf(name), { reports: () => new Promise(() => {}) })
      : stubOf(name),
  );
  const found = await detail(runner);
  expect(found).toMatchObject({ state: "ready", reported: null, work: [] });
  expect(textOf(await look(runner))).toContain(`the pool ${runner.pool} did not respond`);
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
  expect(text).not.toContain("Stopping");
});
