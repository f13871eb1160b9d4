/** Capacity claims: warm-ups start their containers, which runners keep and the pool stops for nobody. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Job } from "../../../src/protocol/runner.ts";
import type { Caller } from "../../../src/services/access/access.ts";
import { createPrediction } from "../../../src/services/predictions/create-prediction.ts";
import { getServices } from "../../../src/services/services.ts";
import { claimedWorld, claimOf, containerOf, told } from "../support/capacity-claims.ts";
import { eventually } from "../support/eventually.ts";
import { lineOf, openPolls, pool, restart } from "../support/pool.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import type { World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

/** Creates a warm-up as the service does. @returns its ID */
async function warmUp(world: World): Promise<string> {
  const caller: Caller = {
    user_id: world.user_id,
    maker: "",
    role: "owner",
    token_id: "test",
    scopes: ["predict"],
    priority: null,
    models: null,
  };
  const request = { input: {}, stream: false };
  const options = {
    origin: "https://auspex.example.com",
    waitSeconds: 0,
    cancelAfterSeconds: null,
  };
  const created = await createPrediction(getServices(env), caller, world.model, request, {
    ...options,
    validateInput: true,
    warmUp: true,
  });
  return created.id;
}

test("a warm-up starts a container of its own, and its runner is told to keep that", async () => {
  const { world, runner, job } = await claimedWorld();
  const claim = claimOf(world, job);
  expect(await pool(world).setCapacityClaims([claim])).toMatchObject([{ ready: 0, missing: 1 }]);
  const id = await warmUp(world);
  const started = await runner.take();
  expect(started).toMatchObject({ prediction_id: id, warm_up: true, start: true });
  expect(await pool(world).setCapacityClaims([claim])).toMatchObject([{ starting: 1, missing: 0 }]);
  const channel = await runner.connect(started);
  await channel.report([{ event: "setup", data: { phase: "ready" } }]);
  await channel.report([], { status: "succeeded", output: "none" });
  expect(await world.client.status(id)).toBe("succeeded");
  expect(await told(runner, containerOf(world, job, "kept"))).toEqual(["kept"]);
  expect(await pool(world).setCapacityClaims([claim])).toMatchObject([{ ready: 1, missing: 0 }]);
});

test("a warm-up too many joins the container, and the poll that brings it names what is kept", async () => {
  const { world, runner, job } = await claimedWorld();
  await pool(world).setCapacityClaims([claimOf(world, job)]);
  await told(runner, containerOf(world, job, "kept"));
  const polling = runner.poll({ jobs: [], containers: [containerOf(world, job, "kept")] });
  await openPolls(world, 2);
  await warmUp(world);
  const answer = await (await polling).json<{ keep: string[]; jobs: Job[] }>();
  expect(answer.keep).toEqual(["kept"]);
  expect(answer.jobs).toMatchObject([{ warm_up: true }]);
  expect(answer.jobs[0]).not.toHaveProperty("start");
});

test("a poll that brings the start of a container names only containers that its runner has reported", async () => {
  const { world, runner, job } = await claimedWorld();
  await pool(world).setCapacityClaims([claimOf(world, job)]);
  const polling = runner.poll({ jobs: [], containers: [] });
  await openPolls(world, 2);
  await warmUp(world);
  const answer = await (await polling).json<{ keep?: string[]; jobs: Job[] }>();
  expect(answer.jobs).toMatchObject([{ warm_up: true, start: true }]);
  expect(answer).not.toHaveProperty("keep");
});

test("claims survive a restart of the pool, and lapse an hour after they were told last", async () => {
  const { world, runner, job } = await claimedWorld();
  await pool(world).setCapacityClaims([claimOf(world, job)]);
  await restart(world);
  const kept = containerOf(world, job, "kept");
  expect(await told(runner, kept)).toEqual(["kept"]);
  advance(3_601);
  await eventually(async () => expect(await told(runner, kept)).toBeUndefined());
  await restart(world);
  expect(await told(runner, kept)).toBeUndefined();
});

test("a runner is not told to keep containers once the claims are gone", async () => {
  const { world, runner, job } = await claimedWorld();
  await pool(world).setCapacityClaims([claimOf(world, job)]);
  const kept = containerOf(world, job, "kept");
  expect(await told(runner, kept)).toEqual(["kept"]);
  await pool(world).setCapacityClaims([]);
  expect(await told(runner, kept)).toBeUndefined();
});

test("a waiting warm-up survives a restart of the pool as a warm-up", async () => {
  const { world, runner, job } = await claimedWorld();
  await pool(world).setCapacityClaims([claimOf(world, job)]);
  await runner.tellState({ slots: 0, jobs: [] });
  const id = await warmUp(world);
  await lineOf(world, 1);
  await restart(world);
  expect(await runner.take()).toMatchObject({ prediction_id: id, warm_up: true, start: true });
});

test("a preview says how many containers the class can hold, and which models it takes them from", async () => {
  const { world, runner, job } = await claimedWorld();
  const devices = [{ id: "GPU-0", name: "L40S", memory_gb: 48, holder: "busy" }];
  const busy = { ...containerOf(world, job, "busy"), gpus: 1, users: 1 };
  await runner.tellState({ jobs: [], devices, max_containers: 2, containers: [busy] });
  const asked = {
    ...{ hardware: world.hardware, gpus: 1, min: 1, container_key: "another" },
    ...{ deployment_id: "another", running: null },
  };
  expect(await pool(world).previewClaim(asked)).toMatchObject({
    runners: 1,
    capacity: 1,
    displaces: [{ model: world.model, containers: 1 }],
  });
  await pool(world).setCapacityClaims([claimOf(world, job, { gpus: 1 })]);
  expect(await pool(world).previewClaim(asked)).toMatchObject({ capacity: 0, displaces: [] });
});
