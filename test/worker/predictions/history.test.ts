/** Retention of rows: they go after `HISTORY_DAYS`, never before their data; what they counted stays. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { settings } from "../../../src/env.ts";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { countOf } from "../support/accounts.ts";
import { eventually } from "../support/eventually.ts";
import {
  accountOf,
  countRows,
  inAccount,
  keepUp,
  objectOf,
  rowOf,
  tablesOf,
} from "../support/objects.ts";
import { shortRun } from "../support/short-runs.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { alarmOf } from "../support/webhooks.ts";
import { newWorld, type World } from "../support/world.ts";

const DAY = 86_400;

beforeEach(stopClock);
afterEach(startClock);

/** A prediction that has ended, with its final row. */
async function ended({ client, waiting }: World): Promise<string> {
  const id = await waiting();
  await client.cancel(id);
  await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "canceled" }));
  return id;
}

const usageOf = ({ user_id }: World) =>
  inAccount(user_id, "SELECT sum(predictions) AS predictions FROM usage");

test("a row goes when it is due, and the usage that it counted stays", async () => {
  const world = await newWorld({ visibility: "public" });
  const id = await ended(world);
  const update = await (await objectOf(id)).getRow();
  await world.client.ok("DELETE", `/v1/predictions/${id}`);
  expect(await rowOf(id)).toMatchObject({ data_removed: 1 });
  advance(399 * DAY);
  await keepUp(world.user_id);
  expect(await rowOf(id)).not.toBeNull();
  advance(2 * DAY);
  await keepUp(world.user_id);
  expect(await rowOf(id)).toBeNull();
  expect((await world.client.fetch(`/v1/predictions/${id}`)).status).toBe(404);
  expect(await usageOf(world)).toEqual([{ predictions: 1 }]);
  // A row that arrives 400 days late is refused.
  const account = await accountOf(world.user_id);
  if (!update) return expect.fail("it had no row");
  expect(await account?.put(update)).toBe(false);
  expect(await countRows(world.user_id)).toBe(0);
  expect(await usageOf(world)).toEqual([{ predictions: 1 }]);
  startClock();
  expect(await countOf(world.model)).toBe(1);
});

test("a prediction under way keeps its row, however long it takes, and holds back later rows", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  const young = await ended(world);
  await world.client.ok("DELETE", `/v1/predictions/${young}`);
  advance(401 * DAY);
  await keepUp(world.user_id);
  expect(await rowOf(id)).toMatchObject({ status: "pending" });
  expect(await rowOf(young)).not.toBeNull();
});

test("the alarm of the account removes the data of a short run", async () => {
  const world = await newWorld();
  const { id } = await shortRun(world);
  const object = await objectOf(id);
  expect(await alarmOf(object)).toBeNull();
  expect(await rowOf(id)).toMatchObject({ status: "succeeded", data_removed: 0 });
  advance(30 * DAY - 1);
  await keepUp(world.user_id);
  expect(await tablesOf(object)).toEqual(["request"]);
  advance(302);
  await keepUp(world.user_id);
  expect(await tablesOf(object)).toEqual([]);
  expect(await inAccount(world.user_id, "SELECT * FROM removals")).toEqual([]);
  expect(await world.client.get(id)).toMatchObject({ data_removed: true, output: null });
});

test("the alarm of the object removes other data, and the account an hour later if that alarm was lost", async () => {
  const world = await newWorld();
  const id = await ended(world);
  const object = await objectOf(id);
  await runInDurableObject(object, (_, { storage }) => storage.deleteAlarm());
  advance(30 * DAY + 1);
  await keepUp(world.user_id);
  expect(await rowOf(id)).toMatchObject({ data_removed: 0 });
  advance(3_600);
  await keepUp(world.user_id);
  expect(await rowOf(id)).toMatchObject({ data_removed: 1 });
});

test("a removal that has more due rows than one step takes goes on", async () => {
  const world = await newWorld();
  await world.waiting();
  await inAccount(
    world.user_id,
    `WITH RECURSIVE n (value) AS (SELECT 1000 UNION ALL SELECT value + 1 FROM n WHERE value < 3499)
      INSERT INTO predictions (id, object_id, model_id, model_owner, model_name, version_number, stream, status, created_at, updated_at, data_removed, revision)
      SELECT '00000000-0000-7' || value, '', 'm', '', '', 1, 0, 'canceled', 0, 0, 1, 1 FROM n`,
  );
  const account = (await accountOf(world.user_id)) ?? expect.fail("it has no account");
  const lefts: number[] = [];
  for (let step = 0; step < 3; step++) {
    await runDurableObjectAlarm(account);
    lefts.push(await countRows(world.user_id));
  }
  expect(lefts).toEqual([1_501, 501, 1]);
});

test("a short run whose object does not answer is asked again, and delays no other removal", async () => {
  const world = await newWorld();
  const [first, second] = [await shortRun(world), await shortRun(world)];
  const [lost, other] = [await objectOf(first.id), await objectOf(second.id)];
  const { remove } = PredictionObject.prototype;
  const failing = vi.spyOn(PredictionObject.prototype, "remove").mockImplementation(async function (
    this: PredictionObject,
    isKnown,
  ) {
    const row = await this.getRow();
    if (row?.id === first.id) throw new Error("it is down");
    return remove.call(this, isKnown);
  });
  advance(30 * DAY + 301);
  await keepUp(world.user_id);
  expect([await tablesOf(lost), await tablesOf(other)]).toEqual([["request"], []]);
  failing.mockRestore();
  advance(301);
  await keepUp(world.user_id);
  expect(await tablesOf(lost)).toEqual([]);
});

test("rows of predictions that were removed by hand go with the history, too", async () => {
  const world = await newWorld();
  const { id } = await shortRun(world);
  advance(401 * DAY);
  await keepUp(world.user_id);
  await keepUp(world.user_id);
  expect(await rowOf(id)).toBeNull();
});

test("a full history drops its oldest rows first, with their data, and the account reads `trimmed_to`", async () => {
  const world = await newWorld();
  const { id } = await shortRun(world);
  const [object, last] = [await objectOf(id), await ended(world)];
  const fill = `WITH RECURSIVE n (value) AS (SELECT 10000 UNION ALL SELECT value + 1 FROM n WHERE value < 19999)
    INSERT INTO predictions (id, object_id, model_id, model_owner, model_name, version_number, stream, status, created_at, updated_at, data_removed, revision)
    SELECT '00000000-0001-7' || value, '', 'm', '', '', 1, 0, 'canceled', 0, ${Date.now()}, 1, 1 FROM n`;
  await inAccount(world.user_id, fill);
  const account = (await accountOf(world.user_id)) ?? expect.fail("it has no account");
  const size = () => runInDurableObject(account, (_, { storage }) => storage.sql.databaseSize);
  const full = await size();
  const ofObjects = await runInDurableObject(account, (object) =>
    settings(Reflect.get(object, "env")),
  );
  const { historyBytes } = ofObjects;
  Object.assign(ofObjects, { historyBytes: full / 2 });
  try {
    for (let step = 0; step < 50 && (await size()) > full / 2; step++) await keepUp(world.user_id);
  } finally {
    Object.assign(ofObjects, { historyBytes });
  }
  expect(await size()).toBeLessThanOrEqual(full / 2);
  // The two rows are far younger than the rows that were deleted.
  expect([await rowOf(id), await rowOf(last)]).not.toContain(null);
  expect(await tablesOf(object)).toEqual(["request"]);
  const { trimmed_to } = await account.usage({ from: "2026-01-01", to: "9999-12-31" }, 1);
  expect(trimmed_to).toBe(1);
});
