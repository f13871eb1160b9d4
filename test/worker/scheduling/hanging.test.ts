/** Durable Objects that do not answer: their callers go on, and late effects do no harm. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, type Mock, test, vi } from "vitest";
import type { PoolObject } from "../../../src/objects/pool/object.ts";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { ANSWER_MS } from "../../../src/objects/stubs/bounded.ts";
import type { OfferedJob } from "../../../src/objects/stubs/pool.ts";
import type { WaitingJob } from "../../../src/protocol/queue.ts";
import { waitingJob } from "../../domain/scheduling/samples.ts";
import { eventually } from "../support/eventually.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { captureLog } from "../support/log.ts";
import { countRows, inAccount, keepUp, rowOf } from "../support/objects.ts";
import { lineOf, pool } from "../support/pool.ts";
import { deliver } from "../support/queues.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, unique, type World } from "../support/world.ts";

/** The time that an offer may take (src/objects/prediction/handouts.ts). */
const OFFER_MS = 3_000;

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const never = () => new Promise<never>(() => {});

type PoolStub = DurableObjectStub<PoolObject>;

/** Changes the stubs of pools until mocks are restored. */
function pools(changed: (stub: PoolStub) => object): void {
  const stubOf = env.POOL.getByName.bind(env.POOL);
  vi.spyOn(env.POOL, "getByName").mockImplementation((name) => {
    const stub = stubOf(name);
    return Object.assign(stub, changed(stubOf(name)));
  });
}

describe("a pool that does not answer an offer", () => {
  /** Creates a prediction whose offer takes too long, and is lost or not. Returns its ID. */
  async function offered(world: World, isLost: boolean): Promise<string> {
    const hang = vi.fn(never);
    pools((stub) => ({
      offer: async (job: OfferedJob, waiting: WaitingJob) => {
        if (!isLost) await stub.offer(job, waiting);
        return hang();
      },
    }));
    const endTime = holdTimers(OFFER_MS);
    const creating = world.waiting();
    await eventually(() => expect(hang).toHaveBeenCalledTimes(1));
    endTime();
    const id = await creating;
    vi.restoreAllMocks();
    return id;
  }

  test("a pool that hangs delays the create for 3 s, and the job goes through the queue", async () => {
    const world = await newWorld();
    const id = await offered(world, true);
    expect(await world.client.status(id)).toBe("pending");
    await passes(6, id);
    await lineOf(world, 1);
    expect(await (await world.runner()).take()).toMatchObject({ prediction_id: id, attempt: 2 });
  });

  test("a pool that hangs after handing out the job leaves it to the runner", async () => {
    const world = await newWorld();
    const runner = await world.runner();
    const taking = runner.take();
    await eventually(async () => expect((await pool(world).status()).free).toBe(1));
    const id = await offered(world, false);
    const job = await taking;
    expect(job).toMatchObject({ prediction_id: id, attempt: 1 });
    await (await runner.connect(job)).succeed("done");
    expect(await world.client.get(id)).toMatchObject({ status: "succeeded", output: ["done"] });
  });
});

describe("a prediction that does not answer", () => {
  /** Lets a call hang until mocks are restored. */
  const silence = (method: "create" | "get" | "confirm" | "getRow" | "openAttempt") =>
    vi.spyOn(PredictionObject.prototype, method).mockImplementation(never);

  /** Ends the time limit of each of the hanging calls, in turn. */
  async function lateFor<T>(acting: Promise<T>, endTime: () => void, ...hanging: Mock[]) {
    for (const call of hanging) {
      await eventually(() => expect(call).toHaveBeenCalledTimes(1));
      endTime();
    }
    return acting;
  }

  test("a prediction that hangs is a 503 for its reader, and a warning in the log", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    const [get, log, endTime] = [silence("get"), captureLog("warn"), holdTimers(ANSWER_MS)];
    const reading = world.client.json("GET", `/v1/predictions/${id}`);
    expect(await lateFor(reading, endTime, get)).toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining("did not respond in time") },
    });
    expect(log.entries()[0]).toMatchObject({
      message: "Durable Object did not answer",
      error: expect.stringContaining("no answer to get within 10000 ms"),
    });
  });

  test("a prediction whose object hangs is not created, and leaves no row", async () => {
    const { client, model, user_id } = await newWorld();
    captureLog("error");
    const [create, endTime] = [silence("create"), holdTimers(ANSWER_MS)];
    const creating = client.refused("/v1/predictions", { model, input: {} });
    expect(await lateFor(creating, endTime, create)).toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining("will not run") },
    });
    expect(await countRows(user_id)).toBe(0);
  });

  test("a prediction that hangs after its create keeps its row", async () => {
    const { client, model, user_id } = await newWorld();
    captureLog("error");
    const begin = PredictionObject.prototype.create;
    const create = vi
      .spyOn(PredictionObject.prototype, "create")
      .mockImplementation(async function (this: PredictionObject, request) {
        await begin.call(this, request);
        return never();
      });
    const confirm = silence("confirm");
    const creating = client.refused("/v1/predictions", { model, input: {} });
    expect(await lateFor(creating, holdTimers(ANSWER_MS), create, confirm)).toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining("may have been created") },
    });
    vi.restoreAllMocks();
    expect(await countRows(user_id)).toBe(1);
    advance(301);
    await keepUp(user_id);
    const { body } = await client.json<{ items: object[] }>("GET", "/v1/predictions");
    expect(body.items).toMatchObject([{ status: "pending" }]);
  });

  test("a prediction that hangs at its hand-out does not block its runner or its own next attempt", async () => {
    const world = await newWorld();
    const [lost, other] = [await world.waiting(), await world.waiting()];
    await lineOf(world, 2);
    captureLog("warn");
    const [openAttempt, endTime] = [silence("openAttempt"), holdTimers(ANSWER_MS)];
    const runner = await world.runner();
    const taking = runner.take();
    await eventually(() => expect(openAttempt).toHaveBeenCalledTimes(1));
    openAttempt.mockRestore();
    endTime();
    expect((await taking).prediction_id).toBe(other);
    expect((await (await world.runner()).take()).prediction_id).toBe(lost);
  });

  test("a prediction that hangs does not block the account's check of others, and keeps its row", async () => {
    const world = await newWorld();
    const [lost, other] = [await world.waiting(), await world.waiting()];
    await inAccount(world.user_id, "UPDATE predictions SET revision = 0, setup_time = 7");
    const hang = vi.fn(never);
    const { getRow } = PredictionObject.prototype;
    const answering = async function (this: PredictionObject) {
      const row = await getRow.call(this);
      return row?.id === lost ? hang() : row;
    };
    vi.spyOn(PredictionObject.prototype, "getRow").mockImplementation(answering);
    advance(301);
    const [log, endTime] = [captureLog("warn"), holdTimers(ANSWER_MS)];
    await lateFor(keepUp(world.user_id), endTime, hang);
    expect(log.entries()).toMatchObject([
      { message: "Prediction not looked at", prediction_id: lost },
    ]);
    expect([(await rowOf(lost))?.setup_time, (await rowOf(other))?.setup_time]).toEqual([7, null]);
  });
});

test("messages of a pool that does not answer the queue are retried", async () => {
  const message = waitingJob({
    object_id: env.PREDICTION.newUniqueId().toString(),
    user_id: crypto.randomUUID(),
    hardware: unique("hw"),
  });
  captureLog("warn");
  const enqueue = vi.fn(never);
  // Other pools keep their stubs, because the queue may still deliver messages of earlier tests.
  pools((stub) => (stub.name === message.pool ? { enqueue } : {}));
  const endTime = holdTimers(ANSWER_MS);
  const delivering = deliver("dispatch", message);
  await eventually(() => expect(enqueue).toHaveBeenCalledTimes(1));
  endTime();
  expect((await delivering).retryMessages).toMatchObject([{ msgId: "m0" }]);
});
