/** The dispatch of jobs: direct offers, the queue, and losses on the way. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { WaitingJob } from "../../../src/protocol/queue.ts";
import { waitingJob } from "../../domain/scheduling/samples.ts";
import { eventually, pause } from "../support/eventually.ts";
import { countRows, objectOf, refuseRows, rowOf, tablesOf } from "../support/objects.ts";
import { deliver as deliverTo } from "../support/queues.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

async function jobOf(world: World, id: string): Promise<WaitingJob> {
  const { object_id } = (await rowOf(id)) ?? {};
  if (object_id === undefined) throw new Error(`no row of ${id}`);
  const { user_id, hardware, image } = world;
  return waitingJob({ object_id, user_id, hardware, image });
}

const deliver = (...bodies: unknown[]) => deliverTo("dispatch", ...bodies);

const depth = (world: World) => env.POOL.getByName(world.hardware).status();

test("a runner that waits gets the job at once, as attempt 1, without the queue", async () => {
  const world = await newWorld();
  const send = vi.spyOn(env.DISPATCH, "send");
  const one = await world.runner();
  const polling = one.take();
  await eventually(async () => expect((await depth(world)).free).toBe(1));
  const id = await world.waiting({ prompt: "hi" });
  expect(await polling).toMatchObject({ prediction_id: id, attempt: 1, input: { prompt: "hi" } });
  expect(send).not.toHaveBeenCalled();
});

test("a job goes through the queue and waits in the pool if there is no runner", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  await eventually(async () => expect((await depth(world)).waiting).toBe(1));
  const job = await (await world.runner()).take();
  expect(job).toMatchObject({ prediction_id: id, attempt: 2 });
  expect((await depth(world)).waiting).toBe(0);
});

test("a job has the version's image, configuration and limits, and the input", async () => {
  const world = await newWorld({
    configuration: {
      max_concurrency: 4,
      idle_seconds: 9,
      interface: "vendora",
      egress: ["huggingface.co"],
    },
  });
  await world.waiting({ prompt: "hi" });
  expect(await (await world.runner()).take()).toMatchObject({
    model: { owner: world.username, name: "story", version_number: 1 },
    image: {
      repository: `${env.IMAGE_REGISTRY}/${world.model}`,
      digest: expect.stringMatching(/^sha256:/),
    },
    interface: "vendora",
    egress: ["huggingface.co"],
    variables: {},
    limits: {
      max_concurrency: 4,
      idle_seconds: 9,
      output_bytes: 16_777_216,
      logs_bytes: 10_485_760,
    },
    input: { prompt: "hi" },
  });
});

describe("dispatch messages", () => {
  test("dispatch messages that arrive twice, early or late make one attempt", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    const job = await jobOf(world, id);
    expect((await deliver(job, job)).explicitAcks).toEqual(["m0", "m1"]);
    await deliver(job);
    await eventually(async () => expect((await depth(world)).waiting).toBe(1));
    const one = await world.runner(5);
    const { channel } = await one.work();
    await deliver(job);
    await channel.output("a");
    await deliver(job);
    const next = await world.waiting();
    expect((await one.take()).prediction_id).toBe(next);
    await channel.succeed("b");
    await deliver(job);
    const last = await world.waiting();
    expect((await one.take()).prediction_id).toBe(last);
    expect(await world.client.get(id)).toMatchObject({ status: "succeeded", output: ["a", "b"] });
  });

  test("a dispatch message that is lost is sent again by the prediction", async () => {
    const world = await newWorld();
    vi.spyOn(env.DISPATCH, "send").mockRejectedValue(new Error("queue is down"));
    const id = await world.waiting();
    await pause(20);
    expect((await depth(world)).waiting).toBe(0);
    vi.restoreAllMocks();
    await passes(31, id);
    await eventually(async () => expect((await depth(world)).waiting).toBe(1));
    expect((await (await world.runner()).take()).prediction_id).toBe(id);
  });

  test("dispatch messages of another shape are dropped, and the others are delivered", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    const result = await deliver({ hello: 1 }, null, await jobOf(world, id));
    expect(result.explicitAcks.toSorted()).toEqual(["m0", "m1", "m2"]);
    expect(result.retryMessages).toEqual([]);
    expect((await (await world.runner()).take()).prediction_id).toBe(id);
  });

  test("dispatch messages of a failing pool are retried, and those of others are not", async () => {
    const [well, ill] = [await newWorld(), await newWorld()];
    const jobs = [await jobOf(well, await well.waiting()), await jobOf(ill, await ill.waiting())];
    const getByName = env.POOL.getByName.bind(env.POOL);
    vi.spyOn(env.POOL, "getByName").mockImplementation((name) => {
      if (name === ill.hardware) throw new Error("pool is down");
      return getByName(name);
    });
    const result = await deliver(...jobs);
    expect(result.explicitAcks).toEqual(["m0"]);
    expect(result.retryMessages).toMatchObject([{ msgId: "m1" }]);
  });

  test("a dispatch message of an object that does not exist is dropped, and leaves no storage", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    const ghost = env.PREDICTION.newUniqueId();
    await deliver({ ...(await jobOf(world, id)), object_id: ghost.toString() });
    expect((await (await world.runner()).take()).prediction_id).toBe(id);
    expect(await tablesOf(env.PREDICTION.get(ghost))).toEqual([]);
  });
});

describe("an attempt whose runner does not connect within 5 s", () => {
  test("an attempt without a connection for 5 s is closed, and its job is handed out again", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    const lost = await (await world.runner()).take();
    await passes(4, id);
    expect((await depth(world)).waiting).toBe(0);
    await passes(2, id);
    const second = await (await world.runner()).work();
    // The number in between belongs to the second attempt, for which there was no runner.
    expect(second.job).toMatchObject({ prediction_id: id, attempt: lost.attempt + 2 });
    await second.channel.succeed("a");
    expect(await world.client.status(id)).toBe("succeeded");
  });

  test("a runner that connects after 6 s is refused", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    const one = await world.runner();
    const lost = await one.take();
    await passes(6, id);
    await expect(one.connect(lost)).rejects.toThrow("409");
    expect(await world.client.status(id)).toBe("pending");
  });

  test("a job whose attempts had no connection three times can still succeed", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    for (let times = 0; times < 3; times++) {
      await (await world.runner()).take();
      await passes(6, id);
    }
    const { channel } = await (await world.runner()).work();
    await channel.succeed("a");
    expect(await world.client.status(id)).toBe("succeeded");
  });
});

test("an alarm that runs too early changes nothing and is set again", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  const object = await objectOf(id);
  for (let times = 0; times < 3; times++) expect(await runDurableObjectAlarm(object)).toBe(true);
  expect(await world.client.status(id)).toBe("pending");
  advance(3_601);
  await runDurableObjectAlarm(object);
  expect(await world.client.status(id)).toBe("failed");
});

describe("the bound on waiting predictions", () => {
  test("a create beyond 20 waiting predictions is a 429 with Retry-After, for its account only", async () => {
    const world = await newWorld({ visibility: "public" });
    for (let n = 0; n < 20; n++) await world.waiting();
    const newId = vi.spyOn(env.PREDICTION, "newUniqueId");
    const { status, headers, body } = await world.client.refused("/v1/predictions", {
      model: world.model,
      input: {},
    });
    expect(status).toBe(429);
    expect(headers.get("retry-after")).toBe("10");
    const refused: DurableObjectId = newId.mock.results.at(-1)?.value;
    expect(await tablesOf(env.PREDICTION.get(refused))).toEqual([]);
    expect(body).toMatchObject({ type: "urn:auspex:too_many_requests" });
    expect(await countRows(world.user_id)).toBe(20);
    const stranger = await world.stranger();
    expect((await stranger.create({ model: world.model, input: {} })).status).toBe(202);
  });

  test("the bound does not count cancelled predictions and those that have begun", async () => {
    const world = await newWorld();
    const ids: string[] = [];
    for (let n = 0; n < 20; n++) ids.push(await world.waiting());
    await world.client.cancel(ids[0] ?? "");
    const next = await world.waiting();
    await (await world.runner()).work();
    expect(await world.client.status(next)).toBe("pending");
    expect(await world.waiting()).toMatch(/./);
  });

  test("the bound stops counting a prediction that was cancelled while its message was under way", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    const job = await jobOf(world, id);
    await eventually(async () => expect((await depth(world)).waiting).toBe(1));
    await world.client.cancel(id);
    await eventually(async () => expect((await depth(world)).waiting).toBe(0));
    await deliver(job);
    await eventually(async () => expect((await depth(world)).waiting).toBe(0));
  });
});

describe("a row that cannot be written", () => {
  const withoutRows = async <T>(act: () => Promise<T>): Promise<T> => {
    const refusing = refuseRows();
    try {
      return await act();
    } finally {
      refusing.mockRestore();
    }
  };

  test("a create whose row cannot be written is a 503, and its prediction does not run", async () => {
    const world = await newWorld();
    const one = await world.runner();
    const polling = one.take();
    await eventually(async () => expect((await depth(world)).free).toBe(1));
    const refused = await withoutRows(() =>
      world.client.refused("/v1/predictions", { model: world.model, input: {} }),
    );
    expect(refused).toMatchObject({ status: 503, body: { type: "urn:auspex:unavailable" } });
    expect(refused.headers.get("retry-after")).toBe("1");
    const { lease } = await polling;
    const frame = { type: "events", seq: 1, events: [] };
    expect(await one.report(lease, frame)).toMatchObject({ type: "fenced" });
    expect(await countRows(world.user_id)).toBe(0);
  });

  test("a create whose row cannot be written is a 503 also with prefer: wait", async () => {
    const world = await newWorld();
    const { status } = await withoutRows(() =>
      world.client.refused(
        "/v1/predictions",
        { model: world.model, input: {} },
        { prefer: "wait=50" },
      ),
    );
    expect(status).toBe(503);
  });

  test("a create whose row cannot be written leaves its Idempotency-Key unused", async () => {
    const world = await newWorld();
    const headers = { "idempotency-key": "k1" };
    const body = { model: world.model, input: { n: 1 } };
    const refused = await withoutRows(() => world.client.refused("/v1/predictions", body, headers));
    expect(refused.status).toBe(503);
    const { body: found } = await world.client.create(body, headers);
    expect(await world.client.get(found.id)).toMatchObject({ status: "pending", input: { n: 1 } });
    expect(await countRows(world.user_id)).toBe(1);
  });
});
