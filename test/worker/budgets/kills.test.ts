/** Budgets while objects die, answers are lost, and accounts end: nothing stays reserved, nothing is spent twice. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { initialRow } from "../../../src/domain/predictions/prediction-row.ts";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { giveUp } from "../support/accounts.ts";
import { listBudgets, newBudget, ranBefore, setPrice } from "../support/budgets.ts";
import { eventually } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { accountOf, inAccount, keepUp, objectOf, rowOf } from "../support/objects.ts";
import { advance, passes, startClock, stopClock } from "../support/time.ts";
import { newWorld, operator, type World } from "../support/world.ts";

beforeEach(() => {
  stopClock();
  captureLog("warn");
  captureLog("error");
});
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const { admit, put } = AccountObject.prototype;

/** Returns a world whose runs cost one unit a second, for each of which 10 units are reserved, of a budget. */
async function budgetedWorld(limit: string): Promise<World> {
  const world = await newWorld({ configuration: { timeout_seconds: 600 } });
  await setPrice(world, "3600");
  await ranBefore(world, 10, "10");
  await newBudget(world.client, { limit });
  return world;
}

const reservedBy = ({ user_id }: World) =>
  inAccount<{ prediction_id: string; object_id: string; amount: number }>(
    user_id,
    "SELECT * FROM reservations",
  );

/** Loses the answer of the next admission. */
function loseAdmission(): void {
  vi.spyOn(AccountObject.prototype, "admit").mockImplementationOnce(async function (
    this: AccountObject,
    ...args
  ) {
    await admit.apply(this, args);
    throw new Error("the answer was lost");
  });
}

const bodyOf = ({ model }: World) => ({ model, input: {} });

const succeeded = { status: "succeeded", output: "none", execution_seconds: 4 } as const;

describe("between the reservation and the offer", () => {
  test("a create whose answer is lost is refused, and leaves nothing reserved", async () => {
    const world = await budgetedWorld("10");
    loseAdmission();
    expect((await world.client.refused("/v1/predictions", bodyOf(world))).status).toBe(503);
    expect(await reservedBy(world)).toEqual([]);
    expect((await world.client.create(bodyOf(world))).status).toBe(202);
  });

  test("a reservation whose object never begins is freed once the account has asked it, and not by a clock", async () => {
    const world = await budgetedWorld("10");
    loseAdmission();
    const discard = vi.spyOn(AccountObject.prototype, "discard").mockImplementation(() => {});
    expect((await world.client.refused("/v1/predictions", bodyOf(world))).status).toBe(503);
    discard.mockRestore();
    const [{ object_id = "" } = {}] = await reservedBy(world);
    const unreachable = vi
      .spyOn(PredictionObject.prototype, "getRow")
      .mockRejectedValue(new Error("it is down"));
    advance(3_600);
    await keepUp(world.user_id);
    expect(await reservedBy(world)).toMatchObject([{ object_id }]);
    unreachable.mockRestore();
    advance(301);
    await keepUp(world.user_id);
    expect(await reservedBy(world)).toEqual([]);
    expect(await listBudgets(world.client)).toMatchObject([{ spent: "0", reserved: "0" }]);
  });

  test("an account that dies after it has reserved answers the repeated call with the same reservation", async () => {
    const world = await budgetedWorld("10");
    let deaths = 0;
    vi.spyOn(AccountObject.prototype, "admit").mockImplementation(async function (
      this: AccountObject,
      ...args
    ) {
      const admission = await admit.apply(this, args);
      deaths += 1;
      if (deaths === 1) Reflect.get(this, "ctx").abort("it dies here");
      return admission;
    });
    const { id } = (await world.client.create(bodyOf(world))).body;
    expect(deaths).toBe(2);
    expect(await reservedBy(world)).toMatchObject([{ prediction_id: id, amount: 10_000_000_000 }]);
  });

  test("a budgeted create that is repeated in a second object moves its reservation there", async () => {
    const world = await budgetedWorld("10");
    const create = vi
      .spyOn(PredictionObject.prototype, "create")
      .mockImplementationOnce(async function (this: PredictionObject, { spec }) {
        const row = {
          ...(await initialRowOf(spec)),
          object_id: Reflect.get(this, "ctx").id.toString(),
        };
        const account = env.ACCOUNT.get(env.ACCOUNT.idFromString(spec.account_object));
        await account.admit(null, spec.reservation, row);
        throw new Error("Network connection lost.");
      });
    const { id } = (await world.client.create(bodyOf(world))).body;
    create.mockRestore();
    const { object_id } = (await rowOf(id)) ?? expect.fail("it has no row");
    expect(await reservedBy(world)).toMatchObject([{ prediction_id: id, object_id }]);
    const { channel } = await (await world.runner()).work();
    advance(5);
    await channel.report([], succeeded);
    await eventually(async () =>
      expect(await listBudgets(world.client)).toMatchObject([{ spent: "4", reserved: "0" }]),
    );
  });
});

test("a late admission of a dead object changes nothing of the prediction that another object has begun or ended", async () => {
  const world = await budgetedWorld("100");
  const { id, channel } = await world.begun();
  const row = (await (await objectOf(id)).getRow()) ?? expect.fail("it has no row");
  const reserved = await reservedBy(world);
  const account = (await accountOf(world.user_id)) ?? expect.fail("it has no account");
  const dead = { ...row, object_id: "f".repeat(64), status: "pending", revision: 0 } as const;
  const late = () =>
    account.admit(null, { most: 10, least: 10, enough: 10, margin: 1, max_running: null }, dead);
  expect(await late()).toBe("unavailable");
  expect(await reservedBy(world)).toEqual(reserved);
  advance(5);
  await channel.report([], succeeded);
  await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
  expect(await late()).toBe("unavailable");
  expect(await reservedBy(world)).toEqual([]);
});

const initialRowOf = async (spec: Parameters<typeof initialRow>[0]) => initialRow(spec, "");

describe("at the end", () => {
  test.each(["before it", "after it"])(
    "an account that dies %s settles counts a run once, when its row is written again",
    async (when) => {
      const world = await budgetedWorld("100");
      const { id, channel } = await world.begun();
      const dying = vi.spyOn(AccountObject.prototype, "put").mockImplementation(async function (
        this: AccountObject,
        update,
      ) {
        if (when === "after it") await put.call(this, update);
        return Reflect.get(this, "ctx").abort("it dies here");
      });
      advance(5);
      await channel.report([], succeeded);
      await eventually(() => expect(dying.mock.calls.length).toBeGreaterThanOrEqual(4));
      dying.mockRestore();
      await eventually(async () => {
        await passes(11, id);
        expect(await rowOf(id)).toMatchObject({ status: "succeeded" });
      });
      expect(await listBudgets(world.client)).toMatchObject([{ spent: "4", reserved: "0" }]);
    },
  );

  test("a cancel just before the end costs the time used once, whichever of both is first", async () => {
    const world = await budgetedWorld("100");
    const { id, channel } = await world.begun();
    advance(5);
    const canceling = world.client.cancel(id);
    channel.push([], succeeded);
    await canceling;
    await eventually(async () =>
      expect(await listBudgets(world.client)).toMatchObject([{ spent: "4", reserved: "0" }]),
    );
    const [usage] = await inAccount(world.user_id, "SELECT sum(cost) AS cost FROM usage");
    expect(usage).toEqual({ cost: 4_000_000_000 });
  });

  test("an account that is suspended or deleted while it runs settles what has run", async () => {
    const world = await budgetedWorld("100");
    const { id, channel } = await world.begun();
    advance(5);
    await operator.ok("PUT", `/v1/operator/users/${world.username}/suspension`);
    channel.onCancel(() => channel.push([], { ...succeeded, status: "canceled" }));
    channel.push([], { ...succeeded, status: "canceled" });
    await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "canceled" }));
    const budgets = () => inAccount(world.user_id, "SELECT spent FROM budgets");
    await eventually(async () => expect(await budgets()).toEqual([{ spent: 4_000_000_000 }]));
    expect(await reservedBy(world)).toEqual([]);

    const leaving = await budgetedWorld("100");
    const { channel: last } = await leaving.begun();
    advance(5);
    await giveUp(leaving);
    last.push([], { ...succeeded, status: "canceled" });
    await eventually(async () => {
      advance(61);
      await keepUp(leaving.user_id);
      expect(await reservedBy(leaving)).toEqual([]);
    });
  });
});

describe("a run that takes longer than what is reserved", () => {
  test("a run extends its reservation before it is used up, and costs what it took", async () => {
    const world = await budgetedWorld("100");
    const { id, channel } = await world.begun();
    advance(6);
    await channel.report([{ event: "logs", data: "on" }]);
    await runDurableObjectAlarm(await objectOf(id));
    expect(await reservedBy(world)).toMatchObject([{ amount: 20_000_000_000 }]);
    advance(9);
    await channel.report([], { ...succeeded, execution_seconds: 13 });
    await eventually(async () =>
      expect(await listBudgets(world.client)).toMatchObject([{ spent: "13", reserved: "0" }]),
    );
  });

  test("a run whose object wakes up after all that was reserved is used up is extended, and goes on", async () => {
    const world = await budgetedWorld("100");
    const { id, channel } = await world.begun();
    advance(15);
    await channel.report([{ event: "logs", data: "on" }]);
    await runDurableObjectAlarm(await objectOf(id));
    expect(await world.client.get(id)).toMatchObject({ status: "started" });
    expect(await reservedBy(world)).toMatchObject([{ amount: 40_000_000_000 }]);
  });

  test("a run whose extension is refused is stopped when its reservation is used up", async () => {
    const world = await budgetedWorld("10");
    const { id, channel } = await world.begun();
    advance(6);
    await channel.report([{ event: "logs", data: "on" }]);
    await runDurableObjectAlarm(await objectOf(id));
    expect(await world.client.get(id)).toMatchObject({ status: "started" });
    advance(5);
    await runDurableObjectAlarm(await objectOf(id));
    expect(await world.client.get(id)).toMatchObject({
      status: "failed",
      error: { source: "external", detail: { code: "budget_exhausted" } },
      cost: { amount: "10" },
    });
    await eventually(async () =>
      expect(await listBudgets(world.client)).toMatchObject([{ spent: "10", left: "0" }]),
    );
  });

  test("a budget smaller than the longest run admits a run, which stops when the budget is used up", async () => {
    const world = await newWorld({ configuration: { timeout_seconds: 600 } });
    await setPrice(world, "3600");
    await newBudget(world.client, { limit: "100" });
    const { id, channel } = await world.begun();
    expect(await reservedBy(world)).toMatchObject([{ amount: 100_000_000_000 }]);
    const other = await world.client.post("/v1/predictions", bodyOf(world));
    expect([other.status, await other.json()]).toMatchObject([
      402,
      {
        title: "Budget used up or reserved",
        detail: expect.stringContaining(
          "0 USD of 100 USD in total is left (100 USD is reserved for runs that have not ended), and it needs at least 60 USD.",
        ),
      },
    ]);
    for (const seconds of [48, 48]) {
      advance(seconds);
      await channel.report([{ event: "logs", data: "on" }]);
      await runDurableObjectAlarm(await objectOf(id));
    }
    expect(await world.client.get(id)).toMatchObject({ status: "started" });
    advance(5);
    await runDurableObjectAlarm(await objectOf(id));
    expect(await world.client.get(id)).toMatchObject({
      status: "failed",
      error: { source: "external", detail: { code: "budget_exhausted" } },
      cost: { amount: "100" },
    });
    await eventually(async () =>
      expect(await listBudgets(world.client)).toMatchObject([{ spent: "100", left: "0" }]),
    );
  });

  test("a run is not stopped while its account does not answer, until nothing is left that it may use", async () => {
    const world = await budgetedWorld("100");
    const { id, channel } = await world.begun();
    const down = vi
      .spyOn(AccountObject.prototype, "extend")
      .mockImplementation(() => Promise.reject(new Error("it is down")) as never);
    advance(6);
    await channel.report([{ event: "logs", data: "on" }]);
    await runDurableObjectAlarm(await objectOf(id));
    expect(await world.client.get(id)).toMatchObject({ status: "started" });
    down.mockRestore();
    advance(1.1);
    await runDurableObjectAlarm(await objectOf(id));
    expect(await reservedBy(world)).toMatchObject([{ amount: 20_000_000_000 }]);
  });
});
