/** A prediction whose row is still on its way: its id is looked up again before it counts as unknown. */
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

/** Made now, wherever another test has moved the clock that the package remembers. */
const young = () => uuid({ msecs: Date.now() });

const get = async (id: string) => (await client.json("GET", `/v1/predictions/${id}`)).status;

/** How often the rows of predictions are searched meanwhile. */
async function lookUps(act: () => Promise<unknown>): Promise<number> {
  const find = vi.spyOn(AccountObject.prototype, "find");
  await act();
  return find.mock.calls.length;
}

test("it is found when its row comes soon", async () => {
  const id = young();
  const getting = get(id);
  await pause(20);
  await account.put({ ...row, id });
  expect(await getting).toBe(200);
});

test("it is unknown after a few look-ups", async () => {
  expect(await lookUps(async () => expect(await get(young())).toBe(404))).toBe(4);
});

test.each([
  ["older", () => uuid({ msecs: Date.now() - 11_000 })],
  ["of the future", () => uuid({ msecs: Date.now() + 60_000 })],
  ["of no time", () => crypto.randomUUID()],
])("one that is %s is looked up once", async (_, id) => {
  expect(await lookUps(async () => expect(await get(id())).toBe(404))).toBe(1);
});

test("an account that makes up ids is soon told at once", async () => {
  stopClock();
  const all = (count: number) => Promise.all(Array.from({ length: count }, () => get(young())));
  // Those that are under way together are not counted yet.
  await all(210);
  expect(await lookUps(() => all(20))).toBe(20);
});
