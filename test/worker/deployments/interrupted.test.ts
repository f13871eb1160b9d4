/** Deployments whose parts die, and messages that are lost, come late or come twice. */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { PoolObject } from "../../../src/objects/pool/object.ts";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import type { Deployment } from "../../../src/protocol/deployment.ts";
import { sweepDeployments } from "../../../src/services/deployments/claims.ts";
import { giveUp, run, services } from "../support/accounts.ts";
import { at, newStarted, reaches, startsOf, twoVersions } from "../support/deployments.ts";
import { eventually } from "../support/eventually.ts";
import { failing } from "../support/failing.ts";
import { captureLog } from "../support/log.ts";
import { lineOf, restart } from "../support/pool.ts";
import { deliver } from "../support/queues.ts";
import { completion, killRemoteObjects, newRemoteWorld } from "../support/remote.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import type { World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const idOf = async ({ name }: Pick<Deployment, "name">): Promise<string> =>
  String((await run("SELECT id FROM deployments WHERE name = ?", name))[0]?.id);

const sweeps = () => sweepDeployments(services, Date.now());

test.each([null, { input: {} }])(
  "a start of the release that runs does not repeat that of the next one, with the probe %o",
  async (probe) => {
    const { world, made } = await newStarted();
    vi.spyOn(Object.getPrototypeOf(env.DISPATCH), "send").mockResolvedValue(undefined);
    await world.client.ok("PATCH", at(made), { version: 2, probe });
    expect(await startsOf(world)).toHaveLength(2);
    await deliver("counts", { deployment_id: await idOf(made), release: 1, failure: null });
    expect(await startsOf(world)).toHaveLength(2);
    await reaches(world, made, 1, 2);
  },
);

test("a start is counted once, also if the claims cannot be told then", async () => {
  const { made } = await newStarted();
  const deployment_id = await idOf(made);
  const platform = failing();
  captureLog("warn");
  // A batch is two calls here. The third is the first of the sweep.
  platform.begin((nth) => (nth === 3 ? { message: "D1 is down", isDone: false } : undefined));
  const { explicitAcks } = await deliver("counts", { deployment_id, release: 1, failure: null });
  expect(platform.calls().length).toBeGreaterThan(2);
  platform.end();
  expect(explicitAcks).toEqual(["m0"]);
});

test("a start that cannot be recorded does not repeat the others of its batch", async () => {
  const { made } = await newStarted();
  const deployment_id = await idOf(made);
  const platform = failing();
  captureLog("warn");
  platform.begin((nth) => (nth === 1 ? { message: "D1 is down", isDone: false } : undefined));
  const message = { deployment_id, release: 1, failure: null };
  const { explicitAcks, retryMessages } = await deliver("counts", message, message);
  platform.end();
  expect([explicitAcks, retryMessages.map(({ msgId }) => msgId)]).toEqual([["m1"], ["m0"]]);
});

const removals: [string, (world: World, made: Deployment) => Promise<unknown>][] = [
  ["deployment", ({ client }, made) => client.ok("DELETE", at(made))],
  ["account", giveUp],
];
test.each(removals)(
  "the last claim of a pool ends with its %s, also if the pool did not hear of it",
  async (_, remove) => {
    const { world, runner, made, job, container } = await newStarted();
    const containers = [container(job.keys.container, "one")];
    const kept = async () => (await runner.tellState({ jobs: [], containers })).body.keep ?? [];
    captureLog("warn");
    vi.spyOn(PoolObject.prototype, "setCapacityClaims").mockImplementation(() => {
      throw new Error("Network connection lost.");
    });
    await remove(world, made);
    vi.restoreAllMocks();
    expect(await kept()).toEqual(["one"]);
    await sweeps();
    expect(await kept()).toEqual([]);
  },
);

test("a fallback of the same pool is handed out if the pool was just opening an attempt of the version before", async () => {
  const { world, create } = await twoVersions();
  const id = await create();
  await lineOf(world, 1);
  let isHeld = true;
  const { openAttempt } = PredictionObject.prototype;
  const opening = vi
    .spyOn(PredictionObject.prototype, "openAttempt")
    .mockImplementationOnce(async function (this: PredictionObject, ...args) {
      while (isHeld) await scheduler.wait(5);
      return openAttempt.apply(this, args);
    });
  const runner = await world.runner();
  const taking = runner.take();
  await eventually(() => expect(opening).toHaveBeenCalled());
  await lineOf(world, 0);
  await passes(6, id);
  await lineOf(world, 1);
  isHeld = false;
  const job = await taking;
  expect(job.model.name).toBe("other");
  await (await runner.connect(job)).succeed("b");
  await eventually(async () => expect(await world.client.status(id)).toBe("succeeded"));
  await lineOf(world, 0);
});

test("a fallback whose dispatch was lost, and whose objects all died, is dispatched again", async () => {
  const { world, create } = await twoVersions();
  const id = await create();
  await lineOf(world, 1);
  const sending = vi
    .spyOn(Object.getPrototypeOf(env.DISPATCH), "send")
    .mockRejectedValue(new Error("lost"));
  captureLog("warn");
  await passes(6, id);
  expect(sending).toHaveBeenCalled();
  vi.restoreAllMocks();
  await abortAllDurableObjects();
  await passes(31, id);
  const runner = await world.runner();
  const { job, channel } = await runner.work();
  expect(job.model.name).toBe("other");
  await channel.succeed("b");
  await eventually(async () => expect(await world.client.status(id)).toBe("succeeded"));
});

test("a prediction of a deployment that is deleted falls back, and ends", async () => {
  const { world, made, create } = await twoVersions();
  const id = await create();
  await lineOf(world, 1);
  await world.client.ok("DELETE", at(made));
  await passes(6, id);
  const runner = await world.runner();
  const { job, channel } = await runner.work();
  expect(job.model.name).toBe("other");
  await channel.succeed("b");
  await eventually(async () => expect(await world.client.status(id)).toBe("succeeded"));
});

test("a release that starts goes on after every object has died, and starts one container", async () => {
  const { world, made, container, job: first } = await newStarted();
  await world.client.ok("PATCH", at(made), { version: 2 });
  await lineOf(world, 1);
  await abortAllDurableObjects();
  advance(60);
  await Promise.all([sweeps(), sweeps()]);
  const runner = await world.runner(4);
  const containers = [container(first.keys.container, "one")];
  const jobs = await runner.claim({ containers, jobs: [] });
  expect(jobs.filter(({ start }) => start)).toHaveLength(1);
});

test("a container is not started twice if the pool restarts before its runner reports", async () => {
  const { world, runner, job, container } = await newStarted();
  await restart(world);
  advance(60);
  await sweeps();
  expect(await startsOf(world)).toHaveLength(2);
  await lineOf(world, 1);
  const containers = [container(job.keys.container, "one")];
  const [again] = await runner.claim({ containers, jobs: [] });
  expect(again).toMatchObject({ warm_up: true, keys: job.keys });
  expect(again?.start).toBeUndefined();
});

test("a remote object that dies before its first frame is stored is followed by another, and the host is called once", async () => {
  const far = await newRemoteWorld();
  await far.answers(completion("Hello"));
  const dropping = vi
    .spyOn(PredictionObject.prototype, "webSocketMessage")
    .mockImplementationOnce(async () => {});
  const id = await far.chat();
  await eventually(() => expect(dropping).toHaveBeenCalled());
  expect(await killRemoteObjects()).toBeGreaterThan(0);
  for (let n = 0; n < 4; n++) await passes(11, id);
  await eventually(async () => expect(await far.client.status(id)).toBe("succeeded"));
  expect(await far.requests()).toHaveLength(1);
});

test.each([
  ["its deployment is deleted", ({ world, made }: Started) => world.client.ok("DELETE", at(made))],
  [
    "its release is given up",
    ({ world, made }: Started) => world.client.ok("POST", at(made, "/rollback")),
  ],
  [
    "another release comes first",
    ({ world, made }: Started) =>
      world.client.ok("PATCH", at(made), { version: 2, probe: null, min_instances: 2 }),
  ],
])("a probe that waits for a runner is canceled when %s", async (_, end) => {
  const started = await newStarted();
  const { world, made } = started;
  await world.client.ok("PATCH", at(made), { version: 2, probe: { input: {} } });
  const [probe] = (await startsOf(world)).slice(-1);
  const id = String(probe?.id);
  expect(await world.client.status(id)).toBe("pending");
  await end(started);
  expect(await world.client.status(id)).toBe("canceled");
});

type Started = Awaited<ReturnType<typeof newStarted>>;

test("a deployment is deleted, and its claims end, although its starts cannot be found", async () => {
  const { world, made, runner, job, container } = await newStarted();
  captureLog("warn");
  vi.spyOn(AccountObject.prototype, "unfinishedStarts").mockImplementation(() => {
    throw new Error("Network connection lost.");
  });
  await world.client.ok("DELETE", at(made));
  const containers = [container(job.keys.container, "one")];
  expect((await runner.tellState({ jobs: [], containers })).body.keep ?? []).toEqual([]);
});

test("a container that is lost while a probe runs is started again", async () => {
  const { world, made, runner } = await newStarted();
  await world.client.ok("PATCH", at(made), { version: 2, probe: { input: {} } });
  expect(await startsOf(world)).toHaveLength(2);
  await runner.tellState({ jobs: [], containers: [] });
  advance(60);
  await sweeps();
  expect(await startsOf(world)).toHaveLength(3);
});
