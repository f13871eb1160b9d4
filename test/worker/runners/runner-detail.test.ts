/** An operator's view of a runner: its GPUs, containers and predictions. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { QueueState } from "../../../src/protocol/fleet.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { pageAt } from "../support/catalogue.ts";
import { newDashboardUser, newOperator } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { registered } from "../support/fleet.ts";
import { textOf } from "../support/page-text.ts";
import type { FakeRunner } from "../support/runner.ts";
import { detail, gpu } from "../support/runner-pages.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, operator, type World } from "../support/world.ts";

const { visitor } = await newOperator();

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
