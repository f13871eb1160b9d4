/**
 * Accounts far away. Other accounts call an account's objects from anywhere; the tests hold how long a run
 * waits for a distant account object, and that no other account waits.
 */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { AccountObject } from "../../../src/objects/account/object.ts";
import type { PredictionObject } from "../../../src/objects/prediction/object.ts";
import type { Model } from "../../../src/protocol/model.ts";
import type { Client } from "../support/client.ts";
import { eventually, pause } from "../support/eventually.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { captureLog } from "../support/log.ts";
import { accountOf, countRows, inAccount, keepUp, rowOf, tablesOf } from "../support/objects.ts";
import {
  bodyOf,
  createWith,
  FRAME,
  objectsOf,
  reportTo,
  statusOf,
  WAIT,
  waitingRunner,
} from "../support/short-runs.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { alarmOf } from "../support/webhooks.ts";
import { newUser, newWorld, type World, type WorldOptions } from "../support/world.ts";

/** Methods that are not counted as calls: an alarm starts in the object itself. */
const NO_CALLS = ["constructor", "alarm"];

interface Call {
  /** The ID of the object that is called. */
  object: string;
  method: string;
  arrived: boolean;
}

/** Records each call of an account's object, until the test ends. */
function watchAccounts() {
  const calls: Call[] = [];
  const far = new Set<string>();
  const { prototype } = AccountObject;
  const methods = Object.entries(Object.getOwnPropertyDescriptors(prototype)).filter(
    ([name, { value }]) => typeof value === "function" && !NO_CALLS.includes(name),
  );
  for (const [method, descriptor] of methods) {
    Object.defineProperty(prototype, method, {
      ...descriptor,
      async value(this: AccountObject, ...args: unknown[]) {
        const object = String(Reflect.get(this, "ctx").id);
        const call = { object, method, arrived: !far.has(object) };
        calls.push(call);
        // Code in an object cannot wait for a promise that is resolved elsewhere, so the call polls.
        while (!call.arrived) await pause(2);
        return Reflect.apply(descriptor.value, this, args);
      },
    });
  }
  const arriveAll = () => {
    far.clear();
    for (const call of calls) call.arrived = true;
  };
  onTestFinished(() => {
    arriveAll();
    for (const [method, descriptor] of methods)
      Object.defineProperty(prototype, method, descriptor);
  });
  return {
    /** Moves the object of an account far away. */
    async moveAway(userId: string): Promise<void> {
      far.add(await objectIdOf(userId));
    },
    /** The methods of an account's object that have been called, whether the calls have arrived or not. */
    async callsOf(userId: string): Promise<string[]> {
      const id = await objectIdOf(userId);
      return calls.filter(({ object }) => object === id).map(({ method }) => method);
    },
    /** Lets one of the calls under way arrive. */
    arrive(nth: number): void {
      const call = calls.filter(({ arrived }) => !arrived)[nth];
      if (!call) throw new Error("it is not under way");
      call.arrived = true;
    },
    /** Lets all calls arrive: those under way, and all later ones. */
    arriveAll,
  };
}

async function objectIdOf(userId: string): Promise<string> {
  const account = await accountOf(userId);
  if (!account) throw new Error("the account has no object");
  return account.id.toString();
}

/** How long the end of a short run waits for its row (objects/prediction/index-row.ts). */
const ACKNOWLEDGED_MS = 250;

beforeEach(() => {
  stopClock();
  captureLog("warn");
});
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const countedOf = async (userId: string) => {
  const [sum] = await inAccount<{ n: number }>(
    userId,
    "SELECT coalesce(sum(predictions), 0) AS n FROM usage",
  );
  return sum?.n;
};

/** An account that has an object and one prediction, which has ended. */
async function knownWorld(options?: WorldOptions): Promise<World> {
  const world = await newWorld(options);
  await world.client.cancel(await world.waiting());
  await eventually(async () => expect(await countedOf(world.user_id)).toBe(1));
  return world;
}

/** A short run whose end is stored while its row is still on the way to the account object. */
async function endedFarAway(world: World) {
  const accounts = watchAccounts();
  await accounts.moveAway(world.user_id);
  const endTime = holdTimers(ACKNOWLEDGED_MS);
  const { runner, polling } = await waitingRunner(world);
  const answers: string[] = [];
  const { result, objects } = await objectsOf(async () => {
    const creating = createWith(world).finally(() => answers.push("create"));
    const job = await polling;
    const reporting = reportTo(runner, job).finally(() => answers.push("report"));
    await eventually(async () => expect(await accounts.callsOf(world.user_id)).toEqual(["put"]));
    return { id: job.prediction_id, creating, reporting };
  });
  await pause(50);
  expect(answers).toEqual([]);
  return { ...result, accounts, endTime, object: objects[0] ?? expect.fail("it has no object") };
}

type Ended = Awaited<ReturnType<typeof endedFarAway>>;

async function expectResult({ id, creating, reporting }: Ended): Promise<void> {
  expect((await creating).body).toMatchObject({ id, status: "succeeded", output: "hi" });
  expect(await reporting).toMatchObject({ type: "ack", seq: 1 });
}

async function expectOnce({ user_id }: World, { id }: Ended): Promise<void> {
  await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
  expect([await countRows(user_id), await countedOf(user_id)]).toEqual([2, 2]);
}

describe("a short run of an account", () => {
  test("an account that is near enough has the row of a short run before the answer", async () => {
    const world = await knownWorld();
    const ended = await endedFarAway(world);
    ended.accounts.arriveAll();
    await expectResult(ended);
    await expectOnce(world, ended);
    expect(await ended.accounts.callsOf(world.user_id)).toEqual(["put"]);
  });

  /** The row of the end took some seconds and arrives before or after the one of the alarm. */
  test.each(["end", "alarm"])(
    "a run with a distant account answers after 250 ms and is listed and counted once: %s's row first",
    async (first) => {
      const world = await knownWorld();
      const ended = await endedFarAway(world);
      const { accounts, object } = ended;
      ended.endTime();
      await expectResult(ended);
      expect(await rowOf(ended.id)).toBeNull();
      expect(await alarmOf(object)).toBeLessThanOrEqual(Date.now() + 10_000);
      advance(11);
      const alarm = runInDurableObject(object, (instance: PredictionObject) => instance.alarm());
      await eventually(async () =>
        expect(await accounts.callsOf(world.user_id)).toEqual(["put", "put"]),
      );
      accounts.arrive(first === "end" ? 0 : 1);
      await expectOnce(world, ended);
      accounts.arriveAll();
      await alarm;
      await pause(20);
      await expectOnce(world, ended);
      // Two rows ask the account to remove the data, which does no harm.
      advance(30 * 86_400 + 3_700);
      await runDurableObjectAlarm(object);
      await keepUp(world.user_id);
      expect(await tablesOf(object)).toEqual([]);
      await expectOnce(world, ended);
    },
  );

  test("a distant account delays no run of another account that shares its model and machines", async () => {
    const world = await knownWorld({ visibility: "public" });
    const ended = await endedFarAway(world);
    for (let n = 1; n <= 3; n++) {
      const near = await newUser();
      const { runner, polling } = await waitingRunner(world);
      const creating = near.client.create(bodyOf(world), WAIT);
      await reportTo(runner, await polling);
      const { body } = await creating;
      expect(body).toMatchObject({ status: "succeeded", output: "hi" });
      expect(await rowOf(body.id)).toMatchObject({ status: "succeeded" });
      expect(await ended.accounts.callsOf(near.user_id)).toHaveLength(1);
    }
    expect(await ended.accounts.callsOf(world.user_id)).toEqual(["put"]);
    ended.accounts.arriveAll();
    await expectResult(ended);
  });

  test("a distant account that shares a report with another one delays only the runner", async () => {
    const world = await knownWorld({ visibility: "public" });
    const near = await newUser();
    const accounts = watchAccounts();
    await accounts.moveAway(world.user_id);
    holdTimers(ACKNOWLEDGED_MS);
    const runner = await world.runner(2);
    const begin = async (client: Client) => {
      const polling = runner.take();
      await eventually(async () => expect((await statusOf(world)).free).toBeGreaterThan(0));
      const creating = client.create(bodyOf(world), WAIT);
      return { creating, report: { lease: (await polling).lease, frame: FRAME } };
    };
    const [far, other] = [await begin(world.client), await begin(near.client)];
    const answers: string[] = [];
    void far.creating.then(() => answers.push("create"));
    const replying = runner.reports([far.report, other.report]);
    void replying.then(() => answers.push("reports"));
    expect((await other.creating).body).toMatchObject({ status: "succeeded", output: "hi" });
    await pause(50);
    expect(answers).toEqual([]);
    accounts.arriveAll();
    expect(await replying).toMatchObject([{ type: "ack" }, { type: "ack" }]);
    expect((await far.creating).body).toMatchObject({ status: "succeeded", output: "hi" });
  });
});

test("a run of another account's model calls nothing of that account, and still raises its count", async () => {
  const owner = await knownWorld({ visibility: "public" });
  const counted = (predictions_count: number) =>
    eventually(async () => {
      const model = await owner.client.ok<Model>("GET", `/v1/models/${owner.model}`);
      expect(model).toMatchObject({ predictions_count });
      return model;
    }, 6_000);
  const model = await counted(1);
  const told = vi.spyOn(env.COUNTS, "sendBatch");
  const { client, user_id } = await newUser();
  const accounts = watchAccounts();
  await accounts.moveAway(owner.user_id);
  const { body } = await client.create(bodyOf(owner));
  const first = await owner.runner();
  const { channel } = await first.work();
  await channel.succeed("a");
  await first.tellState();
  expect(await client.status(body.id)).toBe("succeeded");
  const { runner, polling } = await waitingRunner(owner);
  const creating = client.create(bodyOf(owner), WAIT);
  await reportTo(runner, await polling);
  expect((await creating).body.status).toBe("succeeded");
  await eventually(async () => expect(await countedOf(user_id)).toBe(2));
  await counted(2);
  advance(601);
  await keepUp(user_id);
  await counted(3);
  const messages = told.mock.calls.flatMap(([batch]) => [...batch].map(({ body }) => body));
  const ofModel = messages.filter((one) => "model_id" in one && one.model_id === model.id);
  expect(ofModel).toEqual([1, 2].map((n) => ({ user_id, model_id: model.id, predictions: n })));
  expect(await accounts.callsOf(user_id)).not.toEqual([]);
  expect(await accounts.callsOf(owner.user_id)).toEqual([]);
});

test("a create with an Idempotency-Key waits until the key is claimed far away, and runs once", async () => {
  const world = await knownWorld();
  const accounts = watchAccounts();
  await accounts.moveAway(world.user_id);
  const { runner, polling } = await waitingRunner(world);
  const answers: string[] = [];
  void polling.then(() => answers.push("job"));
  const headers = { ...WAIT, "idempotency-key": "k" };
  const creates = [1, 2].map(() =>
    world.client.create(bodyOf(world), headers).finally(() => answers.push("create")),
  );
  await eventually(async () =>
    expect(await accounts.callsOf(world.user_id)).toEqual(["admit", "admit"]),
  );
  await pause(50);
  expect(answers).toEqual([]);
  expect(await statusOf(world)).toMatchObject({ waiting: 0, free: 1 });
  accounts.arriveAll();
  const job = await polling;
  await reportTo(runner, job);
  for (const { body } of await Promise.all(creates))
    expect(body).toMatchObject({ id: job.prediction_id, status: "succeeded", output: "hi" });
  await eventually(async () => expect(await countedOf(world.user_id)).toBe(2));
  expect(await countRows(world.user_id)).toBe(2);
  expect(await statusOf(world)).toMatchObject({ waiting: 0 });
});
