/** An operator's look-ups of predictions: within an account, or by the ID alone. */
import { env } from "cloudflare:workers";
import { v7 as uuid } from "uuid";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { newPredictionUuid } from "../../../src/domain/predictions/prediction-id.ts";
import { timeOfId } from "../../../src/lib/hex.ts";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import {
  type OperatorPrediction,
  operatorPrediction,
  type PredictionSearch,
  predictionSearch,
} from "../../../src/protocol/operator.ts";
import { writeCounts } from "../../../src/storage/models/counts.ts";
import { eventually } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { rowOf, tellCounts } from "../support/objects.ts";
import { db } from "../support/query-plans.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, newWorld, operator } from "../support/world.ts";

const SECRET = "the-secret-of-the-prompt";

beforeEach(() => {
  stopClock();
  // The time of IDs never goes back, even if another test has moved the clock.
  vi.setSystemTime(Math.max(Date.now(), timeOfId(newPredictionUuid())));
  captureLog("info");
});
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

async function ended() {
  const world = await newWorld();
  const id = await world.waiting({ prompt: SECRET });
  const runner = await world.runner();
  const { channel } = await runner.work();
  await channel.report([{ event: "output", data: SECRET }], {
    status: "succeeded",
    output: "value",
    setup_seconds: 1.5,
    execution_seconds: 0.25,
  });
  await eventually(async () => expect((await rowOf(id))?.status).toBe("succeeded"));
  return { world, id, runner };
}

const ofUser = (username: string, id: string) => `/v1/operator/users/${username}/predictions/${id}`;
const ofAnybody = (id: string) => `/v1/operator/predictions/${id}`;
const search = (id: string) => operator.ok<PredictionSearch>("GET", ofAnybody(id));

const NOT_FOUND = { found: null, unanswered: [], next_cursor: null, next_url: null };

describe("a look-up within an account", () => {
  test("a look-up has the list's fields, the account, the runner and the attempts, and is logged", async () => {
    const { world, id, runner } = await ended();
    const log = captureLog("info");
    const shown = await operator.ok<OperatorPrediction>("GET", ofUser(world.username, id));
    expect(operatorPrediction.strict().parse(shown)).toEqual(shown);
    const [item] = (
      await world.client.ok<{ items: object[] }>("GET", "/v1/predictions?page_size=5")
    ).items;
    expect(shown).toEqual({
      ...item,
      account: { id: world.user_id, username: world.username, avatar_url: "", kind: "user" },
      runner: runner.id,
      attempts: expect.any(Number),
    });
    expect(shown.attempts).toBeGreaterThan(0);
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    expect(log.entries()).toContainEqual({
      level: "info",
      message: "Prediction looked up by an operator",
      prediction_id: id,
      user_id: world.user_id,
      found: true,
    });
  });

  test("a look-up counts no attempt that no runner began", async () => {
    const world = await newWorld();
    const id = await world.waiting();
    const shown = await operator.ok("GET", ofUser(world.username, id));
    expect(shown).toMatchObject({ runner: null, attempts: 0 });
    await world.client.json("POST", `/v1/predictions/${id}/cancel`);
  });

  test("a look-up has null for fields that a failing object cannot tell", async () => {
    const { world, id } = await ended();
    vi.spyOn(PredictionObject.prototype, "lastRun").mockRejectedValue(new Error("it is down"));
    const shown = await operator.ok("GET", ofUser(world.username, id));
    expect(shown).toMatchObject({ status: "succeeded", runner: null, attempts: null });
  });

  test("a look-up within another or an unknown account is a 404", async () => {
    const { id } = await ended();
    const { username } = await newUser();
    for (const name of [username, "nobody-there"])
      expect((await operator.json("GET", ofUser(name, id))).status).toBe(404);
  });
});

describe("a look-up by the id alone", () => {
  test("a search calls only accounts that were active at the time of the id", async () => {
    const before = await newWorld();
    await before.waiting();
    await tellCounts();
    advance(300);
    const { world, id } = await ended();
    advance(900);
    const after = await newWorld();
    await after.waiting();
    await tellCounts();
    const find = vi.spyOn(AccountObject.prototype, "find");
    const log = captureLog("info");
    const answer = await search(id);
    expect(predictionSearch.strict().parse(answer)).toEqual(answer);
    expect(answer).toEqual({
      ...NOT_FOUND,
      found: await operator.ok("GET", ofUser(world.username, id)),
      asked: 1,
    });
    // The search and the look-up each call `find` once.
    expect(find).toHaveBeenCalledTimes(2);
    expect(log.entries()).toContainEqual({
      level: "info",
      message: "Prediction looked up by an operator",
      prediction_id: id,
      user_id: world.user_id,
      found: true,
      asked: 1,
    });
  });

  test("a search for an unknown id finds nothing", async () => {
    advance(86_400);
    await ended();
    await tellCounts();
    expect(await search(newPredictionUuid())).toEqual({ ...NOT_FOUND, asked: 1 });
    advance(86_400);
    expect(await search(uuid({ msecs: Date.now() }))).toEqual({ ...NOT_FOUND, asked: 0 });
  });

  test("a search names accounts that do not answer", async () => {
    advance(86_400);
    const { world, id } = await ended();
    const { username } = world;
    await tellCounts();
    vi.spyOn(AccountObject.prototype, "find").mockImplementation(() => {
      throw new Error("the account is down");
    });
    expect(await search(id)).toEqual({ ...NOT_FOUND, asked: 1, unanswered: [username] });
  });

  test("a search of many accounts takes several requests", async () => {
    advance(86_400);
    const { world, id } = await ended();
    const other = await newWorld();
    await other.waiting();
    await tellCounts();
    // The other account has reported counts of 200 models before the prediction's account reported its own.
    const told = Array.from({ length: 200 }, () => ({
      user_id: other.user_id,
      model_id: crypto.randomUUID(),
      predictions: 1,
    }));
    await writeCounts(db, told, Date.now() - 60_000);
    const first = await search(id);
    expect(first).toMatchObject({ found: null, asked: 1, next_cursor: expect.any(String) });
    expect(new URL(first.next_url ?? "").searchParams.get("cursor")).toBe(first.next_cursor);
    const second = await operator.ok<PredictionSearch>("GET", first.next_url ?? "");
    expect(second).toMatchObject({ ...NOT_FOUND, found: { id } });
    expect(second.found?.account).toMatchObject({ id: world.user_id });
    const wrong = `${ofAnybody(newPredictionUuid())}?cursor=${first.next_cursor}`;
    expect((await operator.json("GET", wrong)).status).toBe(422);
  });
});

test("look-ups are refused to users, and with misspelt parameters", async () => {
  const { world, id } = await ended();
  for (const path of [ofUser(world.username, id), ofAnybody(id)])
    expect((await world.client.json("GET", path)).status).toBe(403);
  expect((await operator.json("GET", `${ofAnybody(id)}?curser=a`)).status).toBe(422);
  expect((await operator.json("GET", ofAnybody("1"))).status).toBe(422);
});

test("told_at of a count is kept, and a lower count does not renew it", async () => {
  const count = { user_id: crypto.randomUUID(), model_id: crypto.randomUUID(), predictions: 3 };
  const told = async (predictions: number, at: number) => {
    await writeCounts(db, [{ ...count, predictions }], at);
    const statement = env.DB.prepare("SELECT told_at FROM account_counts WHERE user_id = ?");
    return statement.bind(count.user_id).first("told_at");
  };
  expect(await told(3, 1_000)).toBe(1_000);
  expect(await told(4, 2_000)).toBe(2_000);
  expect(await told(3, 3_000)).toBe(2_000);
  expect(await told(4, 4_000)).toBe(4_000);
});
