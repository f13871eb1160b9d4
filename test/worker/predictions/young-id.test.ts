/** Predictions whose row is still on its way: an ID is looked up again before it counts as unknown. */
import { v7 as uuid } from "uuid";
import { afterEach, expect, test, vi } from "vitest";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { pause } from "../support/eventually.ts";
import { accountOf, objectOf } from "../support/objects.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const { client, waiting, user_id } = await newWorld();
const row = (await (await objectOf(await waiting())).getRow()) ?? expect.fail("it has no row");
const account = (await accountOf(user_id)) ?? expect.fail("it has no account");

/**
 * Returns an ID of this moment, although other tests may have moved the clock that the uuid package
 * remembers.
 */
const young = () => uuid({ msecs: Date.now() });

const get = async (id: string) => (await client.json("GET", `/v1/predictions/${id}`)).status;

/** Returns how often accounts search the rows of predictions during `act`. */
async function lookUps(act: () => Promise<unknown>): Promise<number> {
  const find = vi.spyOn(AccountObject.prototype, "find");
  await act();
  return find.mock.calls.length;
}

test("a young ID is found when its row arrives soon", async () => {
  const id = young();
  const getting = get(id);
  await pause(20);
  await account.put({ ...row, id });
  expect(await getting).toBe(200);
});

test("a young ID is unknown after four look-ups", async () => {
  expect(await lookUps(async () => expect(await get(young())).toBe(404))).toBe(4);
});

test.each([
  ["older", () => uuid({ msecs: Date.now() - 11_000 })],
  ["of the future", () => uuid({ msecs: Date.now() + 60_000 })],
  ["of no time", () => crypto.randomUUID()],
])("an ID that is %s is looked up once", async (_, id) => {
  expect(await lookUps(async () => expect(await get(id())).toBe(404))).toBe(1);
});

test("an account that makes up IDs soon gets one look-up for each", async () => {
  stopClock();
  const all = (count: number) => Promise.all(Array.from({ length: count }, () => get(young())));
  // Look-ups that are under way together do not count yet.
  await all(210);
  expect(await lookUps(() => all(20))).toBe(20);
});
