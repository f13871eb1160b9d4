/** Usage of an account, which counts each prediction that ends once, also if reports repeat. */
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { v7 as uuid } from "uuid";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type GroupedUsage,
  lastDays,
  type UsageCount,
} from "../../../src/domain/accounts/usage.ts";
import type { PredictionUpdate } from "../../../src/domain/predictions/prediction-row.ts";
import type { UsageRow } from "../../../src/objects/stubs/account.ts";
import type { UsageGroup } from "../../../src/protocol/usage.ts";
import type { UserUsage } from "../../../src/protocol/user.ts";
import { openAccount } from "../../../src/services/access/accounts.ts";
import { getOwnUsage } from "../../../src/services/accounts/usage.ts";
import { getServices } from "../../../src/services/services.ts";
import { sized } from "../../support/sized.ts";
import { accountOf, inAccount, objectOf, refuseRows } from "../support/objects.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { addUsage as addRow, NO_COUNTS, NO_USAGE } from "../support/usage.ts";
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
  getOwnUsage(getServices(env), { user_id, maker: "", role: "owner" }, lastDays(days, Date.now()));

const EVER = { from: "", to: "9" };
const USAGE_COLUMNS = Object.keys({ day: "", ...NO_USAGE }).join(", ");
const rowsOf = (userId: string) =>
  inAccount<object>(userId, `SELECT ${USAGE_COLUMNS} FROM usage ORDER BY day, model_id`);

const addUsage = (userId: string, day: string, model: string, name: string, predictions: number) =>
  addRow(userId, day, {
    ...{ model_id: model, model: name, predictions },
    ...{ failed: 1, execution_ms: 500, cost: 250_000_000 },
  });

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
  for (const update of updates) expect(await account.put(update)).not.toBe(false);
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
        ...NO_USAGE,
        day: "2036-11-21",
        model_id: message.model_id,
        model: world.model,
        token_id: message.token_id,
        token: "test",
        hardware: world.hardware,
        predictions: 1,
        execution_ms: 1_500,
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

describe("sums", () => {
  const METRICS = [
    ...['{"input_tokens":7,"output_tokens":3}', '{"images":2}', "null"],
    '{"input_tokens":1e308,"images":-1,"output_tokens":0.5,"__proto__":9}',
  ];
  /** Two objects of each of six predictions end each in its own way, if at all. */
  const PREDICTIONS = 6;
  const endOf = fc.record({
    status: fc.constantFrom("succeeded" as const, "failed" as const, "canceled" as const),
    cost: fc.nat({ max: 1_000_000_000 }),
    execution_time: fc.nat({ max: 100_000 }).map((ms) => ms / 1_000),
    setup_time: fc.nat({ max: 100_000 }).map((ms) => ms / 1_000),
    metrics: fc.constantFrom(...METRICS),
  });
  const END = 4;
  const report = fc.record({
    n: fc.nat({ max: PREDICTIONS - 1 }),
    isSecond: fc.boolean(),
    step: fc.integer({ min: 1, max: END + 2 }),
  });
  const history = fc.record({
    ends: fc.array(endOf, { minLength: 2 * PREDICTIONS, maxLength: 2 * PREDICTIONS }),
    reports: fc.array(report, { maxLength: 30 }),
  });

  type History = typeof history extends fc.Arbitrary<infer Of> ? Of : never;

  test("the sums of usage are those of the predictions, in whatever order their ends are reported", {
    timeout: 3_600_000,
  }, async () => {
    const world = await newWorld();
    const first = await ended(world, 1.5);
    refused?.mockRestore();
    const account = (await accountOf(world.user_id)) ?? expect.fail("it has no account");
    const check = async ({ ends, reports }: History) => {
      await inAccount(world.user_id, "DELETE FROM predictions");
      await inAccount(world.user_id, "DELETE FROM usage");
      const ids = Array.from({ length: PREDICTIONS }, () => uuid());
      for (const { n, isSecond, step } of reports) {
        const isEnd = step >= END;
        const row: PredictionUpdate = {
          ...first,
          ...(isEnd ? ends[n * 2 + Number(isSecond)] : { status: "started", cost: null }),
          id: ids[n] ?? "",
          object_id: (isSecond ? "b" : "a").repeat(64),
          revision: (isSecond ? 2 ** 40 : 0) + step,
          token_id: n % 2 ? first.token_id : "",
          hardware: `hw-${n % 3}`,
        };
        // Each row is reported twice, as when the first answer is lost.
        await account.put(row);
        await account.put(row);
      }
      const [summed] = await inAccount<UsageCount>(
        world.user_id,
        `SELECT count(*) AS predictions, total(cost) AS cost, total(status = 'failed') AS failed,
          total(round(execution_time * 1000)) AS execution_ms, total(round(setup_time * 1000)) AS setup_ms,
          7 * total(metrics ->> 'input_tokens' = 7) AS input_tokens,
          3 * total(metrics ->> 'output_tokens' = 3) AS output_tokens,
          2 * total(metrics ->> 'images' = 2) AS images
          FROM predictions WHERE status <> 'started'`,
      );
      const [all] = await account.usageBy({ ...EVER, groups: [], limit: 1 });
      expect(all).toMatchObject(summed ?? {});
      const groups = await account.usageBy({ ...EVER, groups: ["token", "hardware"], limit: 100 });
      expect(groups.reduce((sum, { cost }) => sum + cost, 0)).toBe(all?.cost);
    };
    await fc.assert(fc.asyncProperty(history, check), { numRuns: sized(30, 500), seed: 55 });
  });

  test("usage is grouped as it is asked for, of one maker or of all", async () => {
    const user_id = await newAccount();
    const add = (day: string, changes: Partial<UsageRow>) =>
      addRow(user_id, day, { predictions: 1, cost: 1, ...changes });
    await add("2036-10-31", { version_number: 2, maker: "u1", member: "ada" });
    await add("2036-11-01", { version_number: 2, maker: "u1", member: "ada2", cost: 5 });
    await add("2036-11-02", { maker: "u2", member: "eve", token_id: "t", token: "CI" });
    const account = (await accountOf(user_id)) ?? expect.fail("it has no account");
    const by = async (groups: UsageGroup[], maker?: string) =>
      (await account.usageBy({ ...EVER, groups, maker, limit: 10 })).map(
        ({ last_day: _, predictions, cost, ...group }: GroupedUsage & { last_day?: string }) => {
          const { model_id, model, version_number, month, day, member, token, hardware } = group;
          const names = [day, month, model_id, model, version_number, member, token, hardware];
          return [...names.filter((name) => name !== undefined), predictions, cost];
        },
      );
    expect(await by(["month"])).toEqual([
      ["2036-10", 1, 1],
      ["2036-11", 2, 6],
    ]);
    expect(await by(["version"])).toEqual([
      ["m", "ada/story", 2, 2, 6],
      ["m", "ada/story", 1, 1, 1],
    ]);
    expect(await by(["member"])).toEqual([
      ["ada2", 2, 6],
      ["eve", 1, 1],
    ]);
    expect(await by(["day", "hardware"], "u2")).toEqual([["2036-11-02", "cpu", 1, 1]]);
    expect(await by(["token"], "u1")).toEqual([["", 2, 6]]);
  });

  test("sums beyond all bounds of a number are no error", async () => {
    const user_id = await newAccount();
    await addRow(user_id, "2036-11-21", { cost: 9_000_000_000_000_000 });
    // The sum is more than an integer of SQLite can be.
    for (let n = 1; n < 2_048; n *= 2)
      await inAccount(
        user_id,
        `INSERT INTO usage SELECT day, model_id, version_number + ?, token_id, maker, hardware, deployment_id, release,
          model, token, member, deployment, predictions, failed, execution_ms, setup_ms, input_tokens, output_tokens, cached_tokens, images, cost, measures
          FROM usage`,
        n,
      );
    const account = (await accountOf(user_id)) ?? expect.fail("it has no account");
    const [all] = await account.usageBy({ ...EVER, groups: [], limit: 1 });
    expect(all?.cost).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe("the report", () => {
  test("the report counts runs for the account that ran them", async () => {
    const world = await newWorld({ visibility: "public" });
    await tell(world, await ended(world, 1.5));
    await tell(world, await ended(world, 2.5, "failed"));
    const { user_id: other } = await newUser();
    const report = await reportOf(world.user_id);
    const all = { ...NO_COUNTS, predictions: 2, failed: 1, execution_ms: 4_000 };
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
    expect(month.total).toMatchObject({
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
