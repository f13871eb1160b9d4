/** Runners in the operator's API, and their removal. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runnerAt } from "../../../src/objects/stubs/runner.ts";
import type { Load, Machine, SessionResponse } from "../../../src/protocol/runner.ts";
import { readManifest } from "../../../src/services/assets.ts";
import { withTimeout } from "../../../src/services/with-timeout.ts";
import { listNewestRunners } from "../../../src/storage/runners/runners.ts";
import { run, services } from "../support/accounts.ts";
import { Client } from "../support/client.ts";
import { pause } from "../support/eventually.ts";
import { registered, revoke, shown } from "../support/fleet.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { FakeRunner, sessionBody } from "../support/runner.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, operator, unique } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

const { version: latest } = (await readManifest(env)).runner;
const gpu = { name: "NVIDIA L40S", memory_gb: 45 };
const machine: Machine = { cpus: 16, memory_gb: 128, gpus: [gpu, gpu] };
const load: Load = {
  cpu: 3.5,
  memory_used_gb: 31.5,
  gpus: [
    { used: 0.97, memory_used_gb: 40 },
    { used: 0, memory_used_gb: 0 },
  ],
};
const warm = ["ada/story:3"];
const objectOf = (id: string) => env.RUNNER.getByName(id);

describe("a runner", () => {
  test("a runner is shown as it describes itself, in any script", async () => {
    const name = `büro ${unique("€😀")} "x", y`;
    const { runner, hardware } = await registered(name, { machine, version: latest });
    const running = [crypto.randomUUID()];
    const started_at = new Date().toISOString();
    const served = { hardware: [hardware], pool: hardware };
    const plain = { id: runner.id, name, ...served, version: latest, latest_version: latest };
    const idle = { load: null, running: [], warm: [], last_seen_at: started_at };
    const state = {
      state: "ready",
      draining: false,
      draining_since: null,
      outdated: false,
      revoked: false,
      set_aside_until: null,
      set_aside_reason: null,
      failed_starts: null,
      connected: null,
      lost_gpus: null,
      gpu_celsius: null,
      disk: null,
    };
    const fixed = { ...plain, ...state, engine: "process", slots: 3, started_at, machine };
    expect(await shown(runner.id)).toEqual({ ...fixed, ...idle });
    advance(30);
    await runner.tell({ running, load, warm });
    const last_seen_at = new Date().toISOString();
    expect(await shown(runner.id)).toEqual({ ...fixed, load, running, warm, last_seen_at });
  });

  test("a runner is shown with its last report after its object was evicted", async () => {
    const { runner } = await registered();
    const running = [crypto.randomUUID(), crypto.randomUUID()];
    for (const seconds of [5, 30]) {
      advance(seconds);
      await runner.tell({ running, load, warm });
      const last_seen_at = new Date().toISOString();
      await evictDurableObject(objectOf(runner.id));
      expect(await shown(runner.id)).toMatchObject({ running, load, warm, last_seen_at });
    }
    const [lost = "", going] = running;
    await runnerAt(env, runner.id).removeRun(lost);
    await evictDurableObject(objectOf(runner.id));
    expect(await shown(runner.id)).toMatchObject({ running: [going] });
  });

  test("a runner whose token is revoked is offline, and can be removed at once", async () => {
    const { runner, name } = await registered();
    const [token] = await run("SELECT token_id AS id FROM runners WHERE id = ?", runner.id);
    await operator.ok("DELETE", `/v1/operator/runner_tokens/${token?.id}`);
    expect(await shown(runner.id)).toMatchObject({ name, state: "offline" });
    await operator.ok("DELETE", `/v1/operator/runners/${runner.id}`);
    expect(await shown(runner.id)).toBeUndefined();
  });

  test("a runner that has been silent for more than 90 s is offline", async () => {
    const { runner } = await registered();
    advance(90);
    expect(await shown(runner.id)).toMatchObject({ state: "ready" });
    advance(1);
    expect(await shown(runner.id)).toMatchObject({ state: "offline" });
    await runner.tell({ state: "draining" });
    expect(await shown(runner.id)).toMatchObject({ state: "draining" });
  });

  test("a runner that has reported its stop stays stopped", async () => {
    const { runner } = await registered();
    await runner.tell({ state: "stopped" });
    advance(3_600);
    expect(await shown(runner.id)).toMatchObject({ state: "stopped" });
  });

  test("a stopped runner stays stopped when an earlier report arrives late", async () => {
    const { runner } = await registered();
    await runner.tell({ state: "stopped" });
    await runner.tell({ state: "ready" });
    expect(await shown(runner.id)).toMatchObject({ state: "stopped" });
  });

  test("a runner of another version is outdated, and its session names the deployment's version", async () => {
    const { runner, hardware } = await registered(undefined, { version: "0.1.0+00000000" });
    const marks = { version: "0.1.0+00000000", latest_version: latest, outdated: true };
    expect(await shown(runner.id)).toMatchObject(marks);
    const body = sessionBody(hardware, unique("box"));
    const session = await runner.client.json("POST", "/v1/runner/sessions", body);
    expect(session.body).toMatchObject({ latest_version: latest });
  });

  test("a runner's large report is accepted, and stored up to limits", async () => {
    const gpus = Array.from({ length: 70 }, () => ({ name: "🐙".repeat(100), memory_gb: 1 }));
    const { runner } = await registered("é".repeat(100), { machine: { ...machine, gpus } });
    const { status } = await runner.tell({
      running: Array.from({ length: 1_000 }, () => crypto.randomUUID()),
      warm: ["kein Modell", ...Array.from({ length: 199 }, (_, n) => `${"x".repeat(196)}${n}`)],
      load: { ...load, gpus: gpus.map(() => ({ used: 1 / 3, memory_used_gb: 1 / 3 })) },
    });
    expect(status).toBe(200);
    const found = await shown(runner.id);
    expect(found?.running).toHaveLength(1_000);
    expect(found?.warm).toHaveLength(50);
    expect(found?.warm[0]).toBe(`${"x".repeat(196)}0`);
    expect(found?.machine?.gpus).toHaveLength(32);
    expect(found?.load?.gpus).toHaveLength(32);
  });

  test("a runner whose object fails is shown as unknown, and others as usual", async () => {
    const [lost, other] = [await registered(), await registered()];
    const stubOf = env.RUNNER.getByName.bind(env.RUNNER);
    const fetch = () => Promise.reject(new Error("gone"));
    vi.spyOn(env.RUNNER, "getByName").mockImplementation((id) =>
      id === lost.runner.id ? Object.assign(stubOf(id), { fetch }) : stubOf(id),
    );
    const unknown = { id: lost.runner.id, name: lost.name, state: "unknown" };
    expect(await shown(lost.runner.id)).toMatchObject(unknown);
    expect(await shown(other.runner.id)).toMatchObject({ state: "ready" });
  });

  test("a runner object that does not answer is waited for 3 s", async () => {
    const release = holdTimers(3_000);
    const told = vi.fn();
    const asking = withTimeout(new Promise(() => {}), "runner").then(told);
    await pause(10);
    expect(told).not.toHaveBeenCalled();
    release();
    await asking;
    expect(told).toHaveBeenCalledExactlyOnceWith(undefined);
  });
});

test("runners of a revoked token are listed after older runners of valid tokens", async () => {
  const live = await registered();
  const shutOut = await registered();
  await revoke(shutOut.token);
  const newest = async (limit: number) =>
    (await listNewestRunners(services.db, limit)).map(({ id }) => id);
  expect((await newest(1))[0]).toBe(live.runner.id);
  const all = await newest(1_000);
  expect(all.indexOf(shutOut.runner.id)).toBeGreaterThan(all.indexOf(live.runner.id));
});

describe("removing a runner", () => {
  const remove = (id: string) => operator.json("DELETE", `/v1/operator/runners/${id}`);

  test("a runner can be removed only after it has stopped", async () => {
    const { runner, name } = await registered();
    for (const state of ["ready", "draining"] as const) {
      await runner.tell({ state });
      const { status, body } = await remove(runner.id);
      expect(status).toBe(409);
      expect(body).toMatchObject({
        detail: `The runner '${name}' is ${state}. Drain it and stop its process first.`,
      });
      expect(await shown(runner.id)).toMatchObject({ state });
    }
    await runner.tell({ state: "stopped" });
    expect((await remove(runner.id)).body).toEqual({});
    expect(await shown(runner.id)).toBeUndefined();
    expect((await remove(runner.id)).status).toBe(404);
  });

  test("an offline runner can be removed, and is a new one when it registers again", async () => {
    const { runner, token, hardware, name } = await registered();
    await operator.ok("POST", `/v1/operator/runners/${runner.id}/drain`);
    await runner.tell({ warm });
    advance(91);
    expect((await remove(runner.id)).status).toBe(200);
    expect((await runner.tell()).status).toBe(404);
    expect((await runner.poll()).status).toBe(404);
    await runInDurableObject(objectOf(runner.id), async (_, { storage }) => {
      expect(JSON.stringify([...(await storage.list()).values()])).not.toContain(name);
    });
    const again = await FakeRunner.begin(token, hardware, name);
    expect(again.id).not.toBe(runner.id);
    expect(await shown(again.id)).toMatchObject({ name, state: "ready", draining: false });
  });

  test("a removed runner stays removed when an earlier registration arrives late", async () => {
    const { runner, token, hardware, name } = await registered();
    await revoke(token);
    expect((await remove(runner.id)).status).toBe(200);
    await evictDurableObject(objectOf(runner.id));
    const { pool } = runner;
    const late = { ...sessionBody(hardware, name), pool, engine: "process" as const };
    await runnerAt(env, runner.id).beginSession(runner.session, late);
    advance(10.1);
    // The runner reports with its last pass, which its object would renew.
    expect((await runner.tell()).status).toBe(401);
  });

  test("an unfinished removal is finished when the runner registers, as a new one", async () => {
    const { runner, token, hardware, name } = await registered();
    await runnerAt(env, runner.id).remove(Date.now());
    const client = new Client(token);
    const registering = () =>
      client.json<SessionResponse>("POST", "/v1/runner/sessions", sessionBody(hardware, name));
    expect((await registering()).status).toBe(503);
    const { status, body } = await registering();
    expect([status, body.runner_id === runner.id]).toEqual([200, false]);
    expect(await shown(runner.id)).toBeUndefined();
  });

  test("only the operator can remove runners, and only existing ones", async () => {
    const { runner } = await registered();
    const { client } = await newUser();
    expect((await client.json("DELETE", `/v1/operator/runners/${runner.id}`)).status).toBe(403);
    expect((await remove(crypto.randomUUID())).status).toBe(404);
    expect((await remove("x")).status).toBe(422);
  });
});
