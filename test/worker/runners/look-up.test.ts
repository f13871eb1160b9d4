/** An operator's look-ups of predictions: within an account, or by the ID alone. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { newPredictionUuid } from "../../../src/domain/predictions/prediction-id.ts";
import { timeOfId } from "../../../src/lib/hex.ts";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import {
  type OperatorPrediction,
  operatorPrediction,
  predictionSearch,
} from "../../../src/protocol/operator.ts";
import { writeCounts } from "../../../src/storage/models/counts.ts";
import { captureLog } from "../support/log.ts";
import { ended, NOT_FOUND, ofAnybody, ofUser, SECRET, search } from "../support/look-ups.ts";
import { tellCounts } from "../support/objects.ts";
import { db } from "../support/query-plans.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newUser, newWorld, operator } from "../support/world.ts";

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
