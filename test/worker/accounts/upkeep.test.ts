/** The alarm of an account object when a removal is late or fails. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { captureLog } from "../support/log.ts";
import { accountOf, inAccount, keepUp } from "../support/objects.ts";
import { shortRun } from "../support/short-runs.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

const DAY_S = 86_400;
/** The window in ms: short runs that were made and have ended in the same one share a removal. */
const WINDOW_MS = 5 * 60_000;

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

async function alarmOf({ user_id }: World): Promise<number> {
  const account = (await accountOf(user_id)) ?? expect.fail("it has no account");
  await keepUp(user_id);
  const at = await runInDurableObject(account, (_, { storage }) => storage.getAlarm());
  return (at ?? Number.POSITIVE_INFINITY) - Date.now();
}

test("a row whose data is kept longer than the history waits for the data's removal", async () => {
  const world = await newWorld();
  await shortRun(world);
  // RETENTION_DAYS was 730 when the run ended, and HISTORY_DAYS is 400 now.
  const ended = Date.now() - 402 * DAY_S * 1_000;
  const from = ended - (ended % WINDOW_MS);
  const due = ended + 730 * DAY_S * 1_000;
  await inAccount(
    world.user_id,
    "UPDATE predictions SET kept_seconds = 63072000, updated_at = ?",
    ended,
  );
  await inAccount(world.user_id, "DELETE FROM removals");
  await inAccount(
    world.user_id,
    "INSERT INTO removals VALUES (?, 63072000, ?, ?)",
    due,
    from,
    from,
  );
  expect(await alarmOf(world)).toBe(due - Date.now());
});

test("a prediction that cannot be removed is tried again by itself, and the others are removed", async () => {
  captureLog("warn");
  const world = await newWorld();
  vi.setSystemTime(Math.ceil(Date.now() / WINDOW_MS) * WINDOW_MS + 1_000);
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) ids.push((await shortRun(world)).id);
  const [first] = await inAccount<{ object_id: string }>(
    world.user_id,
    "SELECT object_id FROM predictions WHERE id = ?",
    ids[0] ?? "",
  );
  const { remove } = PredictionObject.prototype;
  let asked = 0;
  const removing = vi.spyOn(PredictionObject.prototype, "remove");
  removing.mockImplementation(async function (this: PredictionObject, isKnown) {
    asked += 1;
    const id = Reflect.get(this, "ctx").id.toString();
    if (id === first?.object_id) throw new Error("it cannot be removed");
    return remove.call(this, isKnown);
  });
  advance(31 * DAY_S);
  const rounds: number[] = [];
  for (let n = 0; n < 3; n++) {
    asked = 0;
    await alarmOf(world);
    rounds.push(asked);
    advance(301);
  }
  expect(rounds).toEqual([4, 1, 1]);
  removing.mockRestore();
  await alarmOf(world);
  const rows = await inAccount<{ id: string; due_at: number | null; data_removed: number }>(
    world.user_id,
    "SELECT id, due_at, data_removed FROM predictions ORDER BY id LIMIT 1",
  );
  expect(rows).toEqual([{ id: ids[0], due_at: null, data_removed: 1 }]);
  advance(400 * DAY_S);
  await alarmOf(world);
  expect(await inAccount(world.user_id, "SELECT id FROM predictions")).toEqual([]);
});
