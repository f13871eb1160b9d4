/** Random changes of deployments, with failures: releases stay whole, and pools know the claims that the rows imply. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { type CapacityClaim, capacityClaim } from "../../../src/objects/stubs/pool.ts";
import { sweepDeployments, tellPools } from "../../../src/services/deployments/claims.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { sized } from "../../support/sized.ts";
import { run, services } from "../support/accounts.ts";
import { publish } from "../support/catalogue.ts";
import { failing } from "../support/failing.ts";
import { inAccount, withoutAlarms } from "../support/objects.ts";
import { expectFailures, FAILURES } from "../support/one-at-a-time.ts";
import { deliver } from "../support/queues.ts";
import { advance } from "../support/time.ts";
import { newWorld, operator } from "../support/world.ts";

expectFailures();

const NAMES = ["chat", "draw"] as const;
const GRANTED = 3;
const HOUR = 3_600;
/** Longer than a probe may take. */
const PROBE = 3 * HOUR;
/** Rounds of the sweep within which all releases have started or failed, once nothing fails any more. */
const ROUNDS = 4;

const name = fc.constantFrom(...NAMES);
const settings = fc.record(
  {
    version: fc.constantFrom(1, 2),
    min_instances: fc.nat(2),
    max_instances: fc.constantFrom(2, 100),
    max_concurrency: fc.constantFrom(null, 2),
    probe: fc.constantFrom(null, { input: { prompt: "Hi" } }),
  },
  { requiredKeys: [] },
);
const call = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("patch" as const), name, settings }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("roll back" as const), name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("replace" as const), name, settings }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("sweep" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("start ends" as const),
      name,
      // 0: the newest release, which may not be one that starts. Messages may come late, and twice.
      back: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { arbitrary: fc.nat(3), weight: 1 }),
      isDeleted: fc.oneof(
        { weight: 9, arbitrary: fc.constant(false) },
        { weight: 1, arbitrary: fc.constant(true) },
      ),
      failure: fc.constantFrom(null, "the disk is full"),
    }),
  },
);
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never;
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("one" as const), call }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("at once" as const),
      calls: fc.array(call, { minLength: 2, maxLength: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("fails" as const),
      call,
      nth: fc.integer({ min: 1, max: 20 }),
      failure: fc.constantFrom(...FAILURES),
    }),
  },
  { weight: 3, arbitrary: fc.constant({ kind: "ready" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "runner dies" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "claims lost" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "hour" as const }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const deploymentRow = z.object({
  id: z.string(),
  name: z.string(),
  release: z.number(),
  next_release: z.number().nullable(),
  previous_release: z.number().nullable(),
  previous_until: z.number().nullable(),
});
const releaseRow = z.looseObject({
  deployment_id: z.string(),
  number: z.number(),
  min_instances: z.number(),
  max_instances: z.number(),
  ended_at: z.number().nullable(),
  failure: z.string().nullable(),
});
type Deployed = z.infer<typeof deploymentRow> & { releases: z.infer<typeof releaseRow>[] };

const sum = (all: number[]) => all.reduce((total, one) => total + one, 0);

async function newScene() {
  const world = await newWorld();
  const { client, user_id, username, model, hardware } = world;
  await publish(client, model);
  const grant = `/v1/operator/users/${username}/capacity/${hardware}`;
  await operator.ok("PUT", grant, { instances: GRANTED });
  let runner = await world.runner(8);
  await runner.tellState({ jobs: [], containers: [] });
  /** Releases that have ended, none of which runs again, with their failures. */
  const ended = new Map<string, string | null>();
  /** Settings of releases, which never change. */
  const made = new Map<string, string>();
  /** The last numbers of deployments, the releases that ran at the last check, and the IDs of deleted deployments. */
  const last = new Map<string, number>();
  const current = new Map<string, number>();
  const deleted: string[] = [];
  /** Releases one of whose containers has been ready, or whose start or probe has been told to have succeeded. */
  const started = new Set<string>();

  const pool = () => env.POOL.getByName(hardware);
  const claims = (): Promise<CapacityClaim[]> =>
    runInDurableObject(pool(), (_, { storage }) => {
      const [row] = storage.sql.exec("SELECT claims FROM capacity_claims").toArray();
      return z.array(capacityClaim).parse(JSON.parse(String(row?.claims ?? "[]")));
    });

  async function read(): Promise<Deployed[]> {
    const rows = await run("SELECT * FROM deployments WHERE owner_id = ? ORDER BY id", user_id);
    return Promise.all(
      z
        .array(deploymentRow)
        .parse(rows)
        .map(async (row) => {
          const sql = "SELECT * FROM releases WHERE deployment_id = ? ORDER BY number";
          return { ...row, releases: z.array(releaseRow).parse(await run(sql, row.id)) };
        }),
    );
  }

  const path = (name: string) => `/v1/deployments/${username}/${name}`;
  const create = (name: string, settings: object) =>
    client.json("POST", "/v1/deployments", { name, model, version: 1, ...settings });

  async function endStart(id: string, release: number, failure: string | null): Promise<void> {
    if (failure === null) started.add(`${id}:${release}`);
    await deliver("counts", { deployment_id: id, release, failure });
  }

  /** @returns the status of the answer, if it is a call of the API */
  async function make(one: Call): Promise<number | undefined> {
    if (one.kind === "sweep") await sweepDeployments(services, Date.now());
    else if (one.kind === "patch")
      return (await client.json("PATCH", path(one.name), one.settings)).status;
    else if (one.kind === "roll back")
      return (await client.json("POST", `${path(one.name)}/rollback`, {})).status;
    else if (one.kind === "replace") {
      const { status } = await client.json("DELETE", path(one.name));
      return status >= 500 ? status : (await create(one.name, one.settings)).status;
    } else {
      const found = (await read()).find((row) => row.name === one.name);
      const id = one.isDeleted ? deleted.at(-1) : found?.id;
      const number = (last.get(id ?? "") ?? 0) - one.back;
      if (id !== undefined && number > 0) await endStart(id, number, one.failure);
    }
    return undefined;
  }

  const platform = failing();
  async function apply(one: Step): Promise<void> {
    if (one.kind === "one" || one.kind === "at once") {
      const calls = one.kind === "one" ? [one.call] : one.calls;
      const statuses = await Promise.all(calls.map(make));
      for (const status of statuses) expect([undefined, 200, 404, 409]).toContain(status);
    } else if (one.kind === "fails") {
      platform.begin((nth) => (nth === one.nth ? one.failure : undefined));
      await make(one.call).catch(() => {});
      platform.end();
    } else if (one.kind === "ready") await beReady();
    else if (one.kind === "runner dies") await runner.tellState({ jobs: [], containers: [] });
    else if (one.kind === "claims lost") await pool().setCapacityClaims([]);
    else await passes(HOUR);
  }

  /** Lets time pass in which the runner has gone, and another has come. */
  async function passes(seconds: number): Promise<void> {
    advance(seconds);
    runner = await world.runner(8);
    await runner.tellState({ jobs: [], containers: [] });
  }

  /** The runner has a container for each container of a claim. */
  async function beReady(): Promise<void> {
    const all = await claims();
    const byKey = Map.groupBy(all, ({ container_key }) => container_key);
    const containers = [...byKey].flatMap(([key, same], k) =>
      Array.from({ length: Math.max(...same.map(({ min }) => min)) }, (_, n) =>
        readyContainer({ name: `${k}-${n}`, key, hardware }),
      ),
    );
    for (const { deployment_id, release, min } of all)
      if (min > 0) started.add(`${deployment_id}:${release}`);
    expect((await runner.tellState({ jobs: [], containers })).status).toBe(200);
  }

  /** @param isCalled whether a caller may have made a release that takes over at once */
  async function check(isCalled: boolean): Promise<void> {
    const rows = await read();
    for (const id of last.keys())
      if (!rows.some((row) => row.id === id) && !deleted.includes(id)) deleted.push(id);
    for (const row of rows) checkReleases(row, isCalled);
    await tellPools(services, Date.now(), hardware);
    checkClaims(rows, await claims());
  }

  function checkReleases(row: Deployed, isCalled: boolean): void {
    const { id, release, next_release: next, releases } = row;
    const numbers = releases.map(({ number }) => number);
    const live = [release, next].filter((number) => number !== null && number > 0);
    const open = releases.filter(({ ended_at }) => ended_at === null);
    expect(open.map(({ number }) => number)).toEqual(live);
    if (next !== null) expect(next).toBeGreaterThan(release);
    expect(numbers).toEqual(numbers.map((_, n) => n + 1));
    expect(numbers.length).toBeGreaterThanOrEqual(last.get(id) ?? 0);
    last.set(id, numbers.length);
    for (const { number, ended_at, failure, ...rest } of releases) {
      const key = `${id}:${number}`;
      const text = JSON.stringify(rest);
      expect(made.get(key) ?? text).toBe(text);
      made.set(key, text);
      if (ended.has(key)) expect([ended_at === null, failure]).toEqual([false, ended.get(key)]);
      if (ended_at !== null) ended.set(key, failure);
      else expect(failure).toBe(null);
    }
    const before = current.get(id);
    current.set(id, release);
    expect(release).toBeGreaterThanOrEqual(before ?? 0);
    if (!isCalled && before !== release) expect(started).toContain(`${id}:${release}`);
  }

  function checkClaims(rows: Deployed[], told: CapacityClaim[]): void {
    const isKept = ({ previous_until }: Deployed) => (previous_until ?? 0) > Date.now();
    const expected = rows.flatMap((row) =>
      row.releases
        .filter(
          ({ number, min_instances, max_instances }) =>
            (min_instances > 0 || max_instances < 100) &&
            ([row.release, row.next_release].includes(number) ||
              (number === row.previous_release && isKept(row))),
        )
        .map(({ number, min_instances }) => ({ row, number, min: min_instances })),
    );
    expect(told.map(({ deployment_id, release }) => `${deployment_id}:${release}`)).toEqual(
      expected.map(({ row, number }) => `${row.id}:${number}`),
    );
    // The release before has what the grant leaves.
    for (const [n, { row, number, min }] of expected.entries())
      if (number !== row.release && number !== row.next_release)
        expect(told[n]?.min).toBeLessThanOrEqual(min);
      else expect(told[n]?.min).toBe(min);
    const mosts = Map.groupBy(told, ({ deployment_id }) => deployment_id).values();
    const claimed = [...mosts].map((all) => Math.max(...all.map(({ min }) => min)));
    expect(sum(claimed)).toBeLessThanOrEqual(GRANTED);
  }

  const startsMade = async () =>
    (await inAccount(user_id, "SELECT id FROM predictions WHERE token_id = 'warm_up'")).length;

  /** Lets nothing fail any more, until no release is starting. */
  async function settle(): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      await passes(PROBE);
      const before = await startsMade();
      await sweepDeployments(services, Date.now());
      const isStarted = (await startsMade()) > before;
      await beReady();
      if (isStarted)
        for (const { id, next_release } of await read())
          if (next_release !== null) await endStart(id, next_release, null);
      await sweepDeployments(services, Date.now());
      await check(false);
      if ((await read()).every(({ next_release }) => next_release === null)) return;
    }
    expect.fail("a release still starts");
  }

  for (const name of NAMES) expect((await create(name, { min_instances: 1 })).status).toBe(200);
  await check(true);
  return { apply, check, settle };
}

const isCall = ({ kind }: Call) => kind !== "sweep" && kind !== "start ends";

/** The limit only notices a test that hangs. */
const HANG_MS = 3_600_000;

test("releases stay whole in any sequence of changes and failures, and pools know their claims", {
  timeout: HANG_MS,
}, async () => {
  withoutAlarms();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 16 }), async (steps) => {
      const { apply, check, settle } = await newScene();
      for (const one of steps) {
        await apply(one);
        const calls = one.kind === "at once" ? one.calls : "call" in one ? [one.call] : [];
        await check(calls.some(isCall));
      }
      await settle();
    }),
    { numRuns: sized(4, 100), endOnFailure: true },
  );
});
