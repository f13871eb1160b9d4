/** Releases that keep containers running: how they start, take over, fail and go back. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Deployment, ListedRelease, Release } from "../../../src/protocol/deployment.ts";
import { sweepDeployments } from "../../../src/services/deployments/claims.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { run, services } from "../support/accounts.ts";
import { pageAt } from "../support/catalogue.ts";
import {
  at,
  grantedWorld,
  newDeployment,
  newStarted,
  numbersOf,
  reaches,
  starts,
  startsOf,
} from "../support/deployments.ts";
import { eventually } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { inAccount } from "../support/objects.ts";
import { lineOf } from "../support/pool.ts";
import { deliver } from "../support/queues.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { operator } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

test("a deployment runs once the container that it keeps has started", async () => {
  const { world, runner } = await grantedWorld();
  const { client, model } = world;
  const made = await newDeployment(client, { model, min_instances: 1 });
  expect(numbersOf(made)).toEqual([null, 1]);
  expect(made.status).toMatchObject({ ready: 0, wanted: 1 });
  const request = { model: `${made.owner}/${made.name}`, input: {} };
  expect((await client.refused("/v1/predictions", request)).status).toBe(503);
  const job = await starts(runner);
  expect(job).toMatchObject({ warm_up: true });
  await reaches(world, made, 1, null);
  const container = { name: "one", key: job.keys.container, hardware: world.hardware };
  const told = await runner.tellState({ jobs: [], containers: [readyContainer(container)] });
  expect(told.body.keep).toEqual(["one"]);
  const running = await client.ok<Deployment>("GET", at(made));
  expect(running.status).toEqual({
    ...{ ready: 1, starting: 0, wanted: 1, blocked_by: null, reason: null },
  });
  await client.create(request);
  const run = await runner.take();
  expect(run.keys.container).toBe(job.keys.container);
  await (await runner.connect(run)).succeed("a");
  await client.ok("DELETE", at(made));
  const after = await runner.tellState({ jobs: [], containers: [readyContainer(container)] });
  expect(after.body.keep ?? []).toEqual([]);
});

test("a release takes over once its container has started, and the one before runs until then", async () => {
  const { world, runner, made, job } = await newStarted();
  const { client } = world;
  const changed = await client.ok<Deployment>("PATCH", at(made), { version: 2 });
  expect(numbersOf(changed)).toEqual([1, 2]);
  const request = { model: `${made.owner}/${made.name}`, input: {} };
  expect((await client.create(request)).body.model.version_number).toBe(1);
  const next = await runner.claim();
  const start = next.find(({ warm_up }) => warm_up);
  expect(start?.keys.container).not.toBe(job.keys.container);
  await deliver("counts", { deployment_id: await idOf(made), release: 2, failure: null });
  await reaches(world, made, 2, null);
  expect((await client.create(request)).body.model.version_number).toBe(2);
});

const idOf = async ({ name }: Deployment): Promise<string> =>
  String((await run("SELECT id FROM deployments WHERE name = ?", name))[0]?.id);

test("a release that cannot start leaves the one before, and says why", async () => {
  const { world, runner, made } = await newStarted();
  const { client } = world;
  await client.ok("PATCH", at(made), { version: 2 });
  await starts(runner, "no such file: weights.bin");
  await reaches(world, made, 1, null);
  const { items } = await pageAt<Release>(client, at(made, "/releases"));
  expect(items.map(({ number, failure }) => [number, failure])).toEqual([
    [2, "no such file: weights.bin"],
    [1, null],
  ]);
});

test("a deployment whose first release cannot start takes another one", async () => {
  const { world, runner } = await grantedWorld();
  const { client, model } = world;
  const made = await newDeployment(client, { model, version: 1, min_instances: 1 });
  await starts(runner, "no such file: weights.bin");
  const failed = await reaches(world, made, null, null);
  expect(failed.status.blocked_by).toBe("failures");
  const changed = await client.ok<Deployment>("PATCH", at(made), { version: 2 });
  expect(numbersOf(changed)).toEqual([null, 2]);
  await starts(runner);
  await reaches(world, made, 2, null);
});

test("starts of containers and probes are not among the figures of their releases", async () => {
  const { world, runner, made } = await newStarted();
  const { client } = world;
  await client.ok("PATCH", at(made), { version: 2, probe: { input: {} } });
  await (await runner.work()).channel.succeed("A hatter");
  await reaches(world, made, 2, null);
  await client.create({ model: `${made.owner}/${made.name}`, input: {} });
  await (await runner.work()).channel.succeed("Another one");
  await eventually(async () => {
    const { items } = await pageAt<ListedRelease>(client, at(made, "/releases"));
    expect(items.map(({ figures }) => figures?.predictions)).toEqual([1, 0]);
  });
  expect(await inAccount(world.user_id, "SELECT release FROM usage ORDER BY release")).toEqual([
    ...[{ release: 1 }, { release: 2 }, { release: 2 }],
  ]);
});

test("a change that needs no other containers takes over at once", async () => {
  const { world, made } = await newStarted();
  const changed = await world.client.ok<Deployment>("PATCH", at(made), { min_instances: 2 });
  expect(numbersOf(changed)).toEqual([2, null]);
});

test("a roll-back gives up the release that starts, and then goes back to the one before", async () => {
  const { world, made } = await newStarted();
  const { client } = world;
  await client.ok("PATCH", at(made), { version: 2 });
  expect(numbersOf(await client.ok("POST", at(made, "/rollback")))).toEqual([1, null]);
  expect((await client.json("POST", at(made, "/rollback"))).status).toBe(409);
  await client.ok("PATCH", at(made), { min_instances: 0, version: 2 });
  const back = await client.ok<Deployment>("POST", at(made, "/rollback"));
  expect(back.current_release).toMatchObject({
    ...{ number: 4, version: 1, configuration: { min_instances: 1 } },
  });
});

test("two roll-backs at once go back by one release", async () => {
  const { world, runner, made } = await newStarted();
  const { client } = world;
  await client.ok("PATCH", at(made), { version: 2 });
  await starts(runner);
  await reaches(world, made, 2, null);
  const back = () => client.ok<Deployment>("POST", at(made, "/rollback"));
  for (const { current_release } of await Promise.all([back(), back()]))
    expect(current_release).toMatchObject({ number: 3, version: 1 });
});

test("the containers of the release before are kept for an hour", async () => {
  const { world, runner, made, job, container } = await newStarted();
  await world.client.ok("PATCH", at(made), { version: 2 });
  const next = await starts(runner);
  await reaches(world, made, 2, null);
  const containers = [container(job.keys.container, "one"), container(next.keys.container, "two")];
  const kept = async () => {
    await sweepDeployments(services, Date.now());
    return ((await runner.tellState({ jobs: [], containers })).body.keep ?? []).toSorted();
  };
  expect(await kept()).toEqual(["one", "two"]);
  await run("UPDATE deployments SET previous_until = 1 WHERE name = ?", made.name);
  expect(await kept()).toEqual(["two"]);
});

type Started = Awaited<ReturnType<typeof newStarted>>;

test.each([
  [
    "its hour has passed",
    ({ made }: Started) =>
      run("UPDATE deployments SET previous_until = 1 WHERE name = ?", made.name),
  ],
  [
    "its owner is suspended",
    ({ world }: Started) => run("UPDATE users SET suspended_at = 1 WHERE id = ?", world.user_id),
  ],
  ["its deployment is deleted", ({ world, made }: Started) => world.client.ok("DELETE", at(made))],
])("the last claim of a pool ends when %s", async (_, end) => {
  const started = await newStarted();
  const { world, runner, made, job, container } = started;
  const containers = [container(job.keys.container, "one")];
  const kept = async () => (await runner.tellState({ jobs: [], containers })).body.keep ?? [];
  await world.client.ok("PATCH", at(made), { min_instances: 0 });
  await sweepDeployments(services, Date.now());
  expect(await kept()).toEqual(["one"]);
  await end(started);
  await sweepDeployments(services, Date.now());
  expect(await kept()).toEqual([]);
});

test("the containers of the release before are kept within the grant", async () => {
  const { world, runner } = await grantedWorld(1);
  const { client, model, hardware } = world;
  const claiming = { model, version: 1, min_instances: 1 };
  const made = await newDeployment(client, claiming);
  const { keys } = await starts(runner);
  await reaches(world, made, 1, null);
  const one = readyContainer({ name: "one", key: keys.container, hardware });
  const kept = async () => (await runner.tellState({ jobs: [], containers: [one] })).body.keep;
  expect(await kept()).toEqual(["one"]);
  await client.ok("PATCH", at(made), { min_instances: 0 });
  expect(await kept()).toEqual(["one"]);
  await newDeployment(client, claiming);
  expect((await kept()) ?? []).toEqual([]);
});

test("a container that was lost is started again, by one of several sweeps", async () => {
  const { world, runner } = await newStarted();
  await runner.tellState({ jobs: [], containers: [] });
  advance(60);
  await Promise.all(Array.from({ length: 4 }, () => sweepDeployments(services, Date.now())));
  expect(await startsOf(world)).toHaveLength(2);
});

test("containers that fail to start are tried again after a time that grows", async () => {
  const { world, runner, made } = await newStarted();
  await runner.tellState({ jobs: [], containers: [] });
  const id = await idOf(made);
  const fail = () =>
    deliver("counts", { deployment_id: id, release: 1, failure: "the disk is full" });
  const after = async () => {
    const rows = await run("SELECT start_after, start_failures FROM deployments WHERE id = ?", id);
    return [(Number(rows[0]?.start_after) - Date.now()) / 60_000, rows[0]?.start_failures];
  };
  await fail();
  expect(await after()).toEqual([1, 1]);
  // Containers that were started together count once.
  await fail();
  expect(await after()).toEqual([1, 1]);
  for (const [minutes, failures] of [
    [2, 2],
    [4, 3],
    [8, 4],
    [16, 5],
    [30, 6],
    [30, 7],
  ]) {
    advance(31 * 60);
    await fail();
    expect(await after()).toEqual([minutes, failures]);
  }
  const { status } = await world.client.ok<Deployment>("GET", at(made));
  expect(status).toMatchObject({
    blocked_by: "failures",
    reason: expect.stringContaining("the disk is full"),
  });
});

test("containers that start and end again and again are started six times in ten minutes", async () => {
  const { world, runner, made } = await newStarted();
  await runner.tellState({ jobs: [], containers: [] });
  const status = async () => (await world.client.ok<Deployment>("GET", at(made))).status;
  for (let n = 2; n <= 6; n++) {
    expect((await status()).blocked_by).toBe(null);
    await eventually(async () => {
      await sweepDeployments(services, Date.now());
      expect(await startsOf(world)).toHaveLength(n);
    });
    await starts(runner);
    await runner.tellState({ jobs: [], containers: [] });
  }
  await eventually(async () =>
    expect(await status()).toMatchObject({
      blocked_by: "failures",
      reason: expect.stringContaining("started 6 times within 10 minutes"),
    }),
  );
  advance(60);
  await sweepDeployments(services, Date.now());
  expect(await startsOf(world)).toHaveLength(6);
  advance(540);
  await sweepDeployments(services, Date.now());
  expect(await startsOf(world)).toHaveLength(7);
});

test("a lower grant ends claims, and says so", async () => {
  const { world, made } = await newStarted();
  const { username, hardware, client } = world;
  await operator.ok("PUT", `/v1/operator/users/${username}/capacity/${hardware}`, { instances: 0 });
  await sweepDeployments(services, Date.now());
  const { status } = await client.ok<Deployment>("GET", at(made));
  expect(status).toMatchObject({ ready: 0, wanted: 1, blocked_by: "grant" });
});

test("a dry run changes nothing, and says what would be", async () => {
  const { world, made } = await newStarted();
  const { client, model } = world;
  const changed = await client.ok<Deployment>("PATCH", at(made, "?dry_run=true"), { version: 2 });
  expect(numbersOf(changed)).toEqual([1, 2]);
  expect(changed).toMatchObject({ displaces: [] });
  expect(numbersOf(await client.ok("GET", at(made)))).toEqual([1, null]);
  const body = { name: "other", model, min_instances: 9 };
  const refused = await client.json("POST", "/v1/deployments?dry_run=true", body);
  expect(refused.status).toBe(409);
  await client.ok("POST", "/v1/deployments?dry_run=true", { ...body, min_instances: 1 });
  expect((await pageAt(client, "/v1/deployments")).items).toHaveLength(1);
});

test("messages of starts that come twice, late or for a release that was given up change nothing", async () => {
  const { world, made } = await newStarted();
  const { client } = world;
  const id = await idOf(made);
  const told = (release: number, failure: string | null) =>
    deliver("counts", { deployment_id: id, release, failure });
  await client.ok("PATCH", at(made), { version: 2 });
  await client.ok("POST", at(made, "/rollback"));
  await told(2, null);
  await reaches(world, made, 1, null);
  await client.ok("PATCH", at(made), { version: 2, max_concurrency: 2 });
  await told(1, null);
  await told(2, "late");
  await reaches(world, made, 1, 3);
  for (const failure of [null, null, "late"]) await told(3, failure);
  await reaches(world, made, 3, null);
  await told(1, "late");
  const ended = await run(
    "SELECT number FROM releases WHERE deployment_id = ? AND ended_at IS NULL",
    id,
  );
  expect(ended).toEqual([{ number: 3 }]);
});

test("a release waits while the queue of its account is full, and then starts", async () => {
  const { world, made } = await newStarted();
  const { client, model } = world;
  const { maxWaiting: limit } = services.settings;
  const waiting: string[] = [];
  for (let n = 0; n < limit; n++) waiting.push((await client.create({ model, input: {} })).body.id);
  await lineOf(world, limit);
  captureLog("warn");
  await client.ok("PATCH", at(made), { version: 2 });
  expect(await startsOf(world)).toHaveLength(1);
  await reaches(world, made, 1, 2);
  for (const id of waiting) await client.fetch(`/v1/predictions/${id}/cancel`, { method: "POST" });
  await lineOf(world, 0);
  advance(60);
  await sweepDeployments(services, Date.now());
  expect(await startsOf(world)).toHaveLength(2);
});
