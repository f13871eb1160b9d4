/** The explanation of a waiting prediction, which its caller and operators read and nobody else does. */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { PoolObject } from "../../../src/objects/pool/object.ts";
import { readyContainer } from "../../protocol/runner-snapshot.ts";
import { explain, forOperator, lineOf, newOther, pathOf } from "../support/explanations.ts";
import { captureLog } from "../support/log.ts";
import { objectOf } from "../support/objects.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newUser, newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

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

test("a pool that has restarted knows what waits", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  await lineOf(world, 1);
  await evictDurableObject(env.POOL.getByName(world.hardware));
  expect((await explain(world.client, id)).reason).toMatchObject({ code: "no_runner" });
  await evictDurableObject(await objectOf(id));
  expect((await explain(world.client, id)).reason).toMatchObject({ code: "no_runner" });
});
