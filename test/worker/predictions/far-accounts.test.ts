/**
 * Accounts far away. Other accounts call an account's objects from anywhere; the tests hold how long a run
 * waits for a distant account object, and that no other account waits.
 */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { PredictionObject } from "../../../src/objects/prediction/object.ts";
import type { Client } from "../support/client.ts";
import { eventually, pause } from "../support/eventually.ts";
import { countedOf, knownWorld, watchAccounts } from "../support/far-accounts.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { captureLog } from "../support/log.ts";
import { countRows, keepUp, rowOf, tablesOf } from "../support/objects.ts";
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
import { newUser, type World } from "../support/world.ts";

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
