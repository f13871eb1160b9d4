/** Usage of an account, which counts each prediction that ends once, also if reports repeat. */
import { env } from "cloudflare:workers";
import { v7 as uuid } from "uuid";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { lastDays } from "../../../src/domain/accounts/usage.ts";
import type { PredictionUpdate } from "../../../src/domain/predictions/prediction-row.ts";
import type { UserUsage } from "../../../src/protocol/user.ts";
import { openAccount } from "../../../src/services/access/accounts.ts";
import { getOwnUsage } from "../../../src/services/accounts/usage.ts";
import { getServices } from "../../../src/services/services.ts";
import { accountOf, inAccount, objectOf, refuseRows } from "../support/objects.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, newWorld, operator, type World } from "../support/world.ts";

beforeEach(() => {
  stopClock();
  vi.setSystemTime("2036-11-21T10:00:00Z");
});
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const reportOf = (user_id: string, days: 30 | 90 = 30) =>
  getOwnUsage(getServices(env), { user_id }, lastDays(days, Date.now()));

const rowsOf = (userId: string) =>
  inAccount<object>(userId, "SELECT * FROM usage ORDER BY day, model_id");

const addUsage = (userId: string, day: string, model: string, name: string, predictions: number) =>
  inAccount(
    userId,
    "INSERT INTO usage VALUES (?, ?, 't', ?, ?, 1, 500, 250000000)",
    day,
    model,
    name,
    predictions,
  );

/** Makes an account with an account object that has no usage yet. */
async function newAccount(): Promise<string> {
  const { user_id } = await newUser();
  await openAccount(getServices(env), user_id);
  return user_id;
}

let refused: ReturnType<typeof refuseRows> | undefined;

/** Ends a prediction whose account object has no final row yet. Returns that row. */
async function ended(world: World, seconds: number, status: "succeeded" | "failed" = "succeeded") {
  const { id, channel } = await world.begun();
  refused = refuseRows();
  // A run takes no longer than its runner had it, by the service's clock.
  advance(seconds);
  await channel.report([], {
    status,
    output: "none",
    execution_seconds: seconds,
    ...(status === "failed" && {
      error: { source: "external", message: "boom", detail: null },
    }),
  });
  const row = await (await objectOf(id)).getRow();
  return row ?? expect.fail("it has no row");
}

async function tell({ user_id }: World, ...updates: PredictionUpdate[]) {
  refused?.mockRestore();
  const account = (await accountOf(user_id)) ?? expect.fail("it has no account");
  for (const update of updates) expect(await account.put(update)).toBe(true);
}

describe("an account", () => {
  test("usage does not count predictions that are under way", async () => {
    const world = await newWorld();
    await world.begun();
    await world.waiting();
    expect(await rowsOf(world.user_id)).toEqual([]);
  });

  test("usage counts an end once, however often it is reported", async () => {
    const world = await newWorld();
    const message = await ended(world, 1.5);
    await tell(world, message, message);
    await tell(world, { ...message, data_removed: true });
    await tell(world, { ...message, status: "started", revision: 2 });
    await tell(world, { ...message, revision: message.revision + 1 });
    expect(await rowsOf(world.user_id)).toEqual([
      {
        token_id: message.token_id,
        day: "2036-11-21",
        model_id: message.model_id,
        model: world.model,
        predictions: 1,
        failed: 0,
        execution_ms: 1_500,
        cost: 0,
      },
    ]);
  });

  test("usage counts the price of the hardware at the time of the create", async () => {
    const world = await newWorld();
    const setPrice = async (price_per_hour: number) => {
      const body = { name: world.hardware, price_per_hour };
      const { status } = await operator.put(`/v1/operator/hardware/${world.hardware}`, body);
      expect(status).toBe(200);
    };
    await setPrice(2.4);
    const first = await ended(world, 90);
    await setPrice(100);
    await tell(world, first, first);
    expect(await rowsOf(world.user_id)).toMatchObject([{ execution_ms: 90_000, cost: 60_000_000 }]);
    // A row of another object of the prediction stands for an object that ran nothing.
    await tell(world, { ...first, object_id: "b".repeat(64), revision: first.revision + 2 ** 40 });
    expect(await rowsOf(world.user_id)).toMatchObject([{ predictions: 1, cost: 60_000_000 }]);
  });

  test("usage counts a prediction whose first row is final", async () => {
    const world = await newWorld();
    const message = await ended(world, 1.5);
    const other = { ...message, id: uuid() };
    await tell(world, message, other, other);
    expect(await rowsOf(world.user_id)).toMatchObject([
      { predictions: 2, failed: 0, execution_ms: 3_000 },
    ]);
  });

  test("the API has the usage of the current month by model, without the month before", async () => {
    const { client, user_id } = await newUser();
    const usage = () => client.ok<UserUsage>("GET", "/v1/user/usage");
    const none = { predictions: 0, failed: 0, execution_seconds: 0, cost: "0" };
    const month = { since: "2036-11-01", currency: "USD", ...none, models: [] };
    expect((await usage()).month).toEqual(month);
    await openAccount(getServices(env), user_id);
    await addUsage(user_id, "2036-10-31", "a", "ada/a", 100);
    await addUsage(user_id, "2036-11-01", "a", "ada/a", 2);
    await addUsage(user_id, "2036-11-21", "a", "ada/a", 3);
    await addUsage(user_id, "2036-11-20", "b", "ada/b", 1);
    expect((await usage()).month).toEqual({
      ...{ since: "2036-11-01", currency: "USD" },
      ...{ predictions: 6, failed: 3, execution_seconds: 1.5, cost: "0.75" },
      models: [
        { model: "ada/a", predictions: 5, failed: 2, execution_seconds: 1, cost: "0.5" },
        { model: "ada/b", predictions: 1, failed: 1, execution_seconds: 0.5, cost: "0.25" },
      ],
    });
  });

  test("usage is summed by the UTC day of the end and by model", async () => {
    const world = await newWorld();
    const message = await ended(world, 0);
    const at = (time: string, changes: Partial<PredictionUpdate>): PredictionUpdate => ({
      ...message,
      id: uuid(),
      updated_at: Date.parse(time),
      ...changes,
    });
    // This ID sorts after all others.
    const model_id = "ffffffff-ffff-4fff-bfff-ffffffffffff";
    const seconds = Array.from({ length: 40 }, (_, n) => (n + 1) / 8);
    await tell(
      world,
      ...seconds.map((execution_time) => at("2036-11-19T23:59:59.999Z", { execution_time })),
      at("2036-11-20T00:00:00Z", { status: "failed", execution_time: 2 }),
      at("2036-11-20T23:00:00Z", { status: "canceled", execution_time: null }),
      at("2036-11-20T23:00:00Z", { model_id }),
      at("2036-11-20T23:00:00Z", { model_id, token_id: "" }),
    );
    expect(await rowsOf(world.user_id)).toMatchObject([
      { day: "2036-11-19", predictions: 40, failed: 0, execution_ms: 102_500 },
      { day: "2036-11-20", model: world.model, predictions: 2, failed: 1, execution_ms: 2_000 },
      { day: "2036-11-20", model_id, token_id: "", predictions: 1 },
      { day: "2036-11-20", model_id, token_id: message.token_id, predictions: 1 },
    ]);
  });
});

describe("the report", () => {
  test("the report counts runs for the account that ran them", async () => {
    const world = await newWorld({ visibility: "public" });
    await tell(world, await ended(world, 1.5));
    await tell(world, await ended(world, 2.5, "failed"));
    const { user_id: other } = await newUser();
    const report = await reportOf(world.user_id);
    const all = { predictions: 2, failed: 1, execution_ms: 4_000, cost: 0 };
    expect(report.total).toEqual(all);
    expect(report.models).toEqual([{ model: world.model, ...all }]);
    expect(report.days).toHaveLength(30);
    expect(report.days.at(-1)).toEqual({ day: "2036-11-21", ...all, models: [all] });
    expect((await reportOf(other)).total.predictions).toBe(0);
  });

  test("the report has the last 30 or 90 days, six models by name, and the others together", async () => {
    const user_id = await newAccount();
    const count = (day: string, model: string, predictions: number) =>
      addUsage(user_id, day, model, `ada/${model}`, predictions);
    for (let n = 1; n <= 9; n++) await count("2036-11-20", `m${n}`, n * 10);
    await count("2036-10-23", "m1", 3);
    await count("2036-10-22", "m2", 1_000);
    await count("2036-08-24", "m3", 2_000);
    await count("2036-08-23", "m4", 4_000);
    const month = await reportOf(user_id);
    expect(month.models.map(({ model, predictions }) => [model, predictions])).toEqual([
      ["ada/m9", 90],
      ["ada/m8", 80],
      ["ada/m7", 70],
      ["ada/m6", 60],
      ["ada/m5", 50],
      ["ada/m4", 40],
      [undefined, 63],
    ]);
    expect(month.days[0]).toMatchObject({ day: "2036-10-23", predictions: 3 });
    expect(month.total).toEqual({
      predictions: 453,
      failed: 10,
      execution_ms: 5_000,
      cost: 2_500_000_000,
    });
    const quarter = await reportOf(user_id, 90);
    expect(quarter.days).toHaveLength(90);
    expect(quarter.days[0]).toMatchObject({ day: "2036-08-24", predictions: 2_000 });
    expect(quarter.models[0]).toMatchObject({ model: "ada/m3", predictions: 2_030 });
    expect(quarter.total.predictions).toBe(3_453);
  });

  test("the report calls a model by its last name", async () => {
    const user_id = await newAccount();
    for (const [day, model] of [
      ["2036-11-19", "ada/zebra"],
      ["2036-11-20", "ada/aardvark"],
    ] as const)
      await addUsage(user_id, day, "m", model, 1);
    expect((await reportOf(user_id)).models).toMatchObject([
      { model: "ada/aardvark", predictions: 2 },
    ]);
  });
});
