/** What an account has run: counted once for each prediction that ends, whatever comes twice or late. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type ProjectionMessage, projectionMessage } from "../../../src/protocol/queue.ts";
import { getOwnUsage } from "../../../src/services/accounts/usage.ts";
import { getServices } from "../../../src/services/services.ts";
import { objectOf } from "../support/objects.ts";
import { deliver } from "../support/queues.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newUser, newWorld, type World } from "../support/world.ts";

beforeEach(() => {
  stopClock();
  vi.setSystemTime("2036-11-21T10:00:00Z");
});
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const reportOf = (user_id: string, days: 30 | 90 = 30) =>
  getOwnUsage(
    getServices(env),
    { token_id: "session", user_id, scopes: ["read"], models: null },
    days,
  );

const rowsOf = async (userId: string) => {
  const statement = env.DB.prepare("SELECT * FROM usage WHERE user_id = ? ORDER BY day, model_id");
  return (await statement.bind(userId).all()).results;
};

/** A prediction that has ended, and whose row nobody has heard of yet: the message that would be it. */
async function ended(world: World, seconds: number, status: "succeeded" | "failed" = "succeeded") {
  const { id, channel } = await world.begun();
  await channel.report([], {
    status,
    output: "none",
    execution_seconds: seconds,
    ...(status === "failed" && {
      error: { source: "external", message: "boom", detail: null },
    }),
  });
  return projectionMessage.parse(await (await objectOf(id)).getRow());
}

const loseProjections = () =>
  vi.spyOn(env.PROJECTION, "send").mockRejectedValue(new Error("queue is down"));

describe("the triggers", () => {
  test("count nothing that is under way", async () => {
    loseProjections();
    const world = await newWorld();
    await world.begun();
    await world.waiting();
    expect(await rowsOf(world.user_id)).toEqual([]);
  });

  test("count an end once, however often it is told", async () => {
    loseProjections();
    const world = await newWorld();
    const message = await ended(world, 1.5);
    await deliver("projection", message, message);
    await deliver("projection", { ...message, data_removed: true });
    await deliver("projection", { ...message, status: "started", revision: 2 });
    await deliver("projection", { ...message, revision: message.revision + 1 });
    expect(await rowsOf(world.user_id)).toEqual([
      {
        user_id: world.user_id,
        day: "2036-11-21",
        model_id: message.model_id,
        model: world.model,
        predictions: 1,
        failed: 0,
        execution_seconds: 1.5,
      },
    ]);
  });

  test("count one whose row is terminal from the first", async () => {
    loseProjections();
    const world = await newWorld();
    const message = await ended(world, 1.5);
    const other: ProjectionMessage = { ...message, id: crypto.randomUUID() };
    await deliver("projection", other, other);
    await deliver("projection", other);
    expect(await rowsOf(world.user_id)).toMatchObject([
      { predictions: 1, failed: 0, execution_seconds: 1.5 },
    ]);
  });

  test("add up to the sum, by the day of the end in UTC and by model", async () => {
    loseProjections();
    const world = await newWorld();
    const message = await ended(world, 0);
    const at = (time: string, changes: Partial<ProjectionMessage>): ProjectionMessage => ({
      ...message,
      id: crypto.randomUUID(),
      updated_at: Date.parse(time),
      ...changes,
    });
    // After all that are made here.
    const model_id = "ffffffff-ffff-4fff-bfff-ffffffffffff";
    const seconds = Array.from({ length: 40 }, (_, n) => (n + 1) / 8);
    await deliver(
      "projection",
      ...seconds.map((execution_time) => at("2036-11-19T23:59:59.999Z", { execution_time })),
      at("2036-11-20T00:00:00Z", { status: "failed", execution_time: 2 }),
      at("2036-11-20T23:00:00Z", { status: "canceled", execution_time: null }),
      at("2036-11-20T23:00:00Z", { model_id }),
    );
    expect(await rowsOf(world.user_id)).toMatchObject([
      { day: "2036-11-19", predictions: 40, failed: 0, execution_seconds: 102.5 },
      { day: "2036-11-20", model: world.model, predictions: 2, failed: 1, execution_seconds: 2 },
      { day: "2036-11-20", model_id, predictions: 1 },
    ]);
  });
});

describe("the report", () => {
  test("follows real runs, each for whoever ran it", async () => {
    const world = await newWorld({ visibility: "public" });
    await deliver("projection", await ended(world, 1.5), await ended(world, 2.5, "failed"));
    const { user_id: other } = await newUser();
    const report = await reportOf(world.user_id);
    const all = { predictions: 2, failed: 1, execution_seconds: 4 };
    expect(report.total).toEqual(all);
    expect(report.models).toEqual([{ model: world.model, ...all }]);
    expect(report.days).toHaveLength(30);
    expect(report.days.at(-1)).toEqual({ day: "2036-11-21", ...all, models: [all] });
    expect((await reportOf(other)).total.predictions).toBe(0);
  });

  test("has the last 30 or 90 days, six models by name, and the others together", async () => {
    const { user_id } = await newUser();
    const count = async (day: string, model: string, predictions: number) =>
      env.DB.prepare("INSERT INTO usage VALUES (?, ?, ?, ?, ?, 1, 0.5)")
        .bind(user_id, day, model, `ada/${model}`, predictions)
        .run();
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
    expect(month.total).toEqual({ predictions: 453, failed: 10, execution_seconds: 5 });
    const quarter = await reportOf(user_id, 90);
    expect(quarter.days).toHaveLength(90);
    expect(quarter.days[0]).toMatchObject({ day: "2036-08-24", predictions: 2_000 });
    expect(quarter.models[0]).toMatchObject({ model: "ada/m3", predictions: 2_030 });
    expect(quarter.total.predictions).toBe(3_453);
  });

  test("calls a model what it was called last", async () => {
    const { user_id } = await newUser();
    for (const [day, model] of [
      ["2036-11-19", "ada/zebra"],
      ["2036-11-20", "ada/aardvark"],
    ])
      await env.DB.prepare("INSERT INTO usage VALUES (?, ?, 'm', ?, 1, 0, 0)")
        .bind(user_id, day, model)
        .run();
    expect((await reportOf(user_id)).models).toMatchObject([
      { model: "ada/aardvark", predictions: 2 },
    ]);
  });
});
