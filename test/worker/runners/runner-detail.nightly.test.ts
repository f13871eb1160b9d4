/** A runner's last 24 hours, and its page while its pool does not answer. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { RunnerHistory } from "../../../src/protocol/runner-log.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { registered } from "../support/fleet.ts";
import { textOf } from "../support/page-text.ts";
import type { FakeRunner } from "../support/runner.ts";
import { detail, gpu } from "../support/runner-pages.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { operator } from "../support/world.ts";

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
