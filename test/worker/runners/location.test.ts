/**
 * The locations where pools are made. workerd has one location only, so tests watch the first call of a
 * pool and its hint.
 */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { QueueState } from "../../../src/protocol/fleet.ts";
import { pageAt } from "../support/catalogue.ts";
import { eventually } from "../support/eventually.ts";
import { sweep } from "../support/queues.ts";
import { FakeRunner } from "../support/runner.ts";
import { newRunnerToken, newWorld, operator, unique } from "../support/world.ts";

afterEach(() => void vi.restoreAllMocks());

/** Returns a function with the hints of calls of this pool since now, null for a call without one. */
function reached(hardware: string): () => (string | null)[] {
  const { getByName } = env.POOL;
  const hints: (string | null)[] = [];
  vi.spyOn(env.POOL, "getByName").mockImplementation((name, options) => {
    if (name === hardware) hints.push(options?.locationHint ?? null);
    return getByName.call(env.POOL, name, options);
  });
  return () => hints;
}

const put = (hardware: string, body: object) =>
  operator.json<{ location_hint: string | null; detail?: string }>(
    "PUT",
    `/v1/operator/hardware/${hardware}`,
    { name: "Box", ...body },
  );

const queueOf = async (hardware: string) => {
  const { items } = await pageAt<QueueState>(operator, "/v1/operator/queues?page_size=50");
  return items.find((queue) => queue.hardware === hardware);
};

const madeAt = (hardware: string) =>
  env.DB.prepare("SELECT made_at FROM pools WHERE name = ?")
    .bind(hardware)
    .first<number>("made_at");

describe("a class with a location", () => {
  test("a class with a location has its pool made there when it is saved", async () => {
    const hardware = unique("hw");
    const calls = reached(hardware);
    const { status, body } = await put(hardware, { location_hint: "apac" });
    expect([status, body.location_hint]).toEqual([200, "apac"]);
    expect(calls()).toEqual(["apac"]);
    expect(await madeAt(hardware)).not.toBeNull();
  });

  test("a class keeps its location: another one is refused, and an absent one changes nothing", async () => {
    const hardware = unique("hw");
    await put(hardware, { location_hint: "weur" });
    for (const location_hint of ["apac", null]) {
      const { status, body } = await put(hardware, { location_hint });
      expect(status).toBe(409);
      expect(body.detail).toMatch(
        /cannot be moved. Keep its location, or create a class with another pool/,
      );
    }
    const calls = reached(hardware);
    expect((await put(hardware, {})).body.location_hint).toBe("weur");
    expect((await put(hardware, { location_hint: "weur" })).status).toBe(200);
    expect(calls()).toEqual([]);
  });

  test("a location must be one of Cloudflare's", async () => {
    expect((await put(unique("hw"), { location_hint: "mars" })).status).toBe(422);
  });

  test("a pool with a location that is not made yet is made by the sweep", async () => {
    const hardware = unique("hw");
    await put(hardware, {});
    await env.DB.prepare("UPDATE pools SET location_hint = 'oc' WHERE name = ?")
      .bind(hardware)
      .run();
    const calls = reached(hardware);
    await sweep();
    await eventually(async () => expect(await madeAt(hardware)).not.toBeNull());
    await sweep();
    // Alerts of the second sweep ask the pool, which stays where it is.
    expect(calls()[0]).toBe("oc");
  });
});

describe("a class without a location", () => {
  test("a class without a location gets no pool from an operator's requests", async () => {
    const hardware = unique("hw");
    const calls = reached(hardware);
    await put(hardware, {});
    const runner = await FakeRunner.begin(await newRunnerToken(hardware), hardware, unique("box"));
    expect(await queueOf(hardware)).toEqual({
      hardware,
      pool: hardware,
      waiting: 0,
      free: 0,
      oldest_wait_ms: null,
      median_wait_ms: null,
      reasons: [],
      accounts: [],
    });
    await pageAt(operator, "/v1/operator/runners?page_size=50");
    await operator.ok("POST", `/v1/operator/runners/${runner.id}/drain`);
    expect(calls()).toEqual([]);
    expect(await madeAt(hardware)).toBeNull();
  });

  test("a class without a location gets its pool with its first prediction", async () => {
    const world = await newWorld();
    const calls = reached(world.hardware);
    await world.waiting();
    expect(calls()).toContain(null);
    await eventually(async () => expect((await queueOf(world.hardware))?.waiting).toBe(1));
    expect((await put(world.hardware, { location_hint: "weur" })).status).toBe(409);
  });
});
