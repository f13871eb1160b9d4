/** The explanation of a waiting prediction, which its caller and operators read and nobody else does. */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { PoolObject } from "../../../src/objects/pool/object.ts";
import { type Explanation, explanation } from "../../../src/protocol/explanation.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import type { Client } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { timersFollowClock } from "../support/hold-timers.ts";
import { captureLog } from "../support/log.ts";
import { objectOf } from "../support/objects.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { DIGEST, newClient, newUser, newWorld, operator, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

const pathOf = (id: string) => `/v1/predictions/${id}/explain`;

async function explain(client: Client, id: string): Promise<Explanation> {
  const shown = await client.ok<Explanation>("GET", pathOf(id));
  expect(explanation.strict().parse(shown)).toEqual(shown);
  return shown;
}

const forOperator = ({ username }: { username: string }, id: string) =>
  operator.ok<Explanation>("GET", `/v1/operator/users/${username}/predictions/${id}/explain`);

const lineOf = ({ hardware }: World, waiting: number) =>
  eventually(async () =>
    expect((await env.POOL.getByName(hardware).status()).waiting).toBe(waiting),
  );

/** Another model on the same hardware, public. */
async function newOther({ client, username, hardware }: World): Promise<string> {
  const model = `${username}/other`;
  const fields = { name: "other", visibility: "public", hardware_identifier: hardware };
  await client.ok("POST", "/v1/models", fields);
  await client.ok("POST", `/v1/models/${model}/versions`, {
    release_notes: "",
    container_image_digest: DIGEST,
    schemas: { prediction: { input: {}, output: {} } },
  });
  return model;
}

describe("the reason of a prediction", () => {
  test("a reason follows a prediction from an empty pool over setup and run to the end", async () => {
    const world = await newWorld();
    const { client } = world;
    const created = new Date().toISOString();
    const id = await world.waiting();
    await lineOf(world, 1);
    const nobody = {
      status: "pending",
      attempt: 1,
      reason: {
        code: "no_runner",
        message: `No ${world.hardware} runner is accepting work. It starts once one comes online or is resumed.`,
        stopped: [],
        runners: [],
      },
      position: null,
      accounts_ahead: null,
      starts_in: null,
      since: created,
      history: [],
    };
    expect(await explain(client, id)).toEqual(nobody);
    advance(5);
    const runner = await world.runner();
    const channel = await runner.connect(await runner.take());
    await channel.report([
      { event: "setup", data: { phase: "pulling", progress: 0.25, message: "1 of 4 GB" } },
    ]);
    expect(await explain(client, id)).toMatchObject({
      status: "started",
      reason: { code: "pulling", message: "Pulling the image, 25%: 1 of 4 GB." },
      history: [{ event: "waited", attempt: 1, at: created, seconds: 5 }],
    });
    advance(3);
    await channel.report([{ event: "setup", data: { phase: "starting" } }]);
    expect((await explain(client, id)).reason).toMatchObject({ code: "starting" });
    advance(1);
    await channel.report([{ event: "setup", data: { phase: "ready" } }]);
    const asked = vi.spyOn(PoolObject.prototype, "explain");
    expect(await explain(client, id)).toMatchObject({ status: "started", reason: null });
    advance(2);
    await channel.succeed();
    expect(await explain(client, id)).toMatchObject({
      status: "succeeded",
      reason: null,
      since: null,
      history: [
        { event: "waited", seconds: 5 },
        { event: "pulled", seconds: 3 },
        { event: "started", seconds: 1 },
        { event: "ran", seconds: 2 },
      ],
    });
    expect(asked).not.toHaveBeenCalled();
    await client.ok("DELETE", `/v1/predictions/${id}`);
    expect(await explain(client, id)).toMatchObject({ status: "succeeded", reason: null });
  });

  test("a reason says that the runner was lost and the prediction waits again", async () => {
    const world = await newWorld();
    const { id } = await world.begun();
    await passes(31, id);
    await lineOf(world, 1);
    const shown = await explain(world.client, id);
    expect(shown).toMatchObject({
      status: "started",
      attempt: 2,
      history: [{ event: "lost", attempt: 1 }],
    });
    expect(shown.reason?.message).toMatch(
      /^The runner of attempt 1 was lost\. The prediction was requeued\./,
    );
  });

  test("a reason says that no runner is there after a full runner was lost, until it polls again", async () => {
    const world = await newWorld();
    timersFollowClock();
    const { id, job, runner } = await world.begun();
    await runner.tellState({ jobs: [job.handout] });
    const next = await world.waiting();
    await lineOf(world, 1);
    expect((await explain(world.client, next)).reason?.code).toBe("busy");
    await passes(31, id);
    await lineOf(world, 2);
    for (const one of [id, next])
      await eventually(async () =>
        expect((await explain(world.client, one)).reason?.code).toBe("no_runner"),
      );
    await runner.tellState({ jobs: [job.handout] });
    expect((await explain(world.client, next)).reason?.code).toBe("busy");
  });
});

describe("readers of an explanation", () => {
  test("a caller reads how many predictions of others are before it, and operators see the runner", async () => {
    const world = await newWorld({ visibility: "public" });
    const theirs = await newUser();
    const full = await world.runner();
    await full.tellState({ free: 0 });
    await world.waiting();
    await lineOf(world, 1);
    const id = (await theirs.client.create({ model: world.model, input: {} })).body.id;
    await lineOf(world, 2);
    const shown = await explain(theirs.client, id);
    expect(shown).toMatchObject({ reason: { code: "busy" }, position: 2, accounts_ahead: 1 });
    for (const secret of [world.username, full.id, "runner-"])
      expect(JSON.stringify(shown)).not.toContain(secret);
    for (const other of [world.client, (await newUser()).client])
      expect((await other.json("GET", pathOf(id))).status).toBe(404);
    const log = captureLog("info");
    expect(await forOperator(theirs, id)).toMatchObject({ reason: { code: "busy" } });
    expect(log.entries()).toContainEqual(
      expect.objectContaining({ prediction_id: id, user_id: theirs.user_id, found: true }),
    );
  });

  test("an owner reads the name of the container that was stopped, strangers do not, operators read all", async () => {
    const world = await newWorld();
    const other = await newOther(world);
    const { job, channel } = await world.begun();
    await channel.succeed();
    const { username, client, hardware } = world;
    const theirs = await newUser();
    const limited = await newClient(username, { models: [other] });
    const waits: string[] = [];
    for (const one of [client, theirs.client]) {
      const id = (await one.create({ model: other, input: {} })).body.id;
      waits.push(id);
      await lineOf(world, 1);
      const key = job.keys.container;
      const containers = [readyContainer({ name: "story", key, hardware, image: world.image })];
      const [given] = await (await world.runner()).claim({ max_containers: 1, containers });
      expect(given).toMatchObject({ prediction_id: id, stop: ["story"] });
    }
    const [mine = "", notMine = ""] = waits;
    expect((await explain(client, mine)).reason).toEqual({
      code: "starting",
      message: `A container is starting. ${world.model}:1 was stopped to make room.`,
      stopped: [`${world.model}:1`],
      runners: [],
    });
    // The token covers other models only, so `stopped` leaves out this one.
    expect((await explain(limited, mine)).reason).toMatchObject({ stopped: [] });
    const hidden = await explain(theirs.client, notMine);
    expect(hidden.reason).toMatchObject({
      message: "A container is starting. 1 other idle container was stopped to make room.",
      stopped: [],
    });
    expect((await forOperator(theirs, notMine)).reason).toMatchObject({
      stopped: [`${world.model}:1`],
      runners: [{ name: expect.stringMatching(/^runner-/), reason: null }],
    });
  });

  test("operators read which runner has declined a prediction, and why", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    await lineOf(world, 1);
    const one = await world.runner();
    const job = await one.take();
    const declined = [{ handout: job.handout, reason: "GPU-7 is lost" }];
    await one.tellState({ free: 1, declined });
    await lineOf(world, 1);
    // A runner takes jobs for as long as it polls.
    const poll = new AbortController();
    one.poll({}, poll.signal).catch(() => {});
    await eventually(async () =>
      expect((await explain(world.client, id)).reason?.code).toBe("declined"),
    );
    const shown = await explain(world.client, id);
    expect(JSON.stringify(shown)).not.toContain("GPU-7");
    expect((await forOperator(world, id)).reason).toMatchObject({
      message: expect.stringMatching(/declined it: runner-\S+ \(GPU-7 is lost\)\./),
      runners: [{ id: one.id, reason: "GPU-7 is lost" }],
    });
    poll.abort();
  });
});

test("an explanation names a pool that does not answer, and asks it once", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  await lineOf(world, 1);
  const asked = vi.spyOn(PoolObject.prototype, "explain").mockImplementation(() => {
    throw new Error("the pool is down");
  });
  expect((await explain(world.client, id)).reason).toMatchObject({ code: "unknown" });
  expect(asked).toHaveBeenCalledTimes(1);
});

test("an explanation costs no more queries than reading the prediction does", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  await lineOf(world, 1);
  await world.client.ok("GET", `/v1/predictions/${id}`);
  const prepare = vi.spyOn(env.DB, "prepare");
  await world.client.ok("GET", `/v1/predictions/${id}`);
  const reads = prepare.mock.calls.length;
  prepare.mockClear();
  await explain(world.client, id);
  expect(prepare.mock.calls.length).toBe(reads);
});

test("a pool that has restarted knows what waits", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  await lineOf(world, 1);
  await evictDurableObject(env.POOL.getByName(world.hardware));
  expect((await explain(world.client, id)).reason).toMatchObject({ code: "no_runner" });
  await evictDurableObject(await objectOf(id));
  expect((await explain(world.client, id)).reason).toMatchObject({ code: "no_runner" });
});
