/** Searches for a prediction by its id alone, in many accounts and in none. */
import { v7 as uuid } from "uuid";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { newPredictionUuid } from "../../../src/domain/predictions/prediction-id.ts";
import { timeOfId } from "../../../src/lib/hex.ts";
import { AccountObject } from "../../../src/objects/account/object.ts";
import type { PredictionSearch } from "../../../src/protocol/operator.ts";
import { writeCounts } from "../../../src/storage/models/counts.ts";
import { captureLog } from "../support/log.ts";
import { ended, NOT_FOUND, ofAnybody, search } from "../support/look-ups.ts";
import { tellCounts } from "../support/objects.ts";
import { db } from "../support/query-plans.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, operator } from "../support/world.ts";

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

describe("a look-up by the id alone", () => {
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
