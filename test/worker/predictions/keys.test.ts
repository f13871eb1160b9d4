/** Idempotency keys while objects die and answers are lost: nothing runs twice. */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { sized } from "../../support/sized.ts";
import { eventually, pause } from "../support/eventually.ts";
import { countRows, inAccount, keepUp, rowOf, tablesOf } from "../support/objects.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

/** Rounds of the last test. A thousand rounds passed when it was written, which took some minutes. */
const ROUNDS = sized(2, 20);
const SEED = 18;

const keyed = ({ client, model }: World, key: string, n = 1) =>
  client.json<{ id: string; detail: string }>(
    "POST",
    "/v1/predictions",
    { model, input: { n } },
    { "idempotency-key": key },
  );

const { admit } = AccountObject.prototype;

/** Returns the objects whose prediction has begun, of all rows of the account. */
async function begun({ user_id }: World): Promise<string[]> {
  const rows = await inAccount(user_id, "SELECT * FROM predictions");
  const found = await Promise.all(
    rows.map(({ object_id }) =>
      env.PREDICTION.get(env.PREDICTION.idFromString(object_id)).getRow(),
    ),
  );
  return found.flatMap((row) => row?.id ?? []);
}

test("a key whose claim was never answered is free again, and its object never begins", async () => {
  const world = await newWorld();
  const lost = vi.spyOn(AccountObject.prototype, "admit").mockImplementationOnce(async function (
    this: AccountObject,
    ...args
  ) {
    await admit.apply(this, args);
    throw new Error("the answer was lost");
  });
  const made = vi.spyOn(env.PREDICTION, "newUniqueId");
  expect((await keyed(world, "k")).status).toBe(503);
  lost.mockRestore();
  const first = env.PREDICTION.get(made.mock.results[0]?.value);
  const { status, body } = await keyed(world, "k");
  expect(status).toBe(202);
  expect(await tablesOf(first)).toEqual(["never"]);
  expect(await countRows(world.user_id)).toBe(1);
  expect((await keyed(world, "k")).body.id).toBe(body.id);
  expect((await keyed(world, "k", 2)).status).toBe(409);
  expect(await rowOf(body.id)).toMatchObject({ status: "pending" });
});

test("a repeat waits for a create that stalls between claim and begin", async () => {
  const world = await newWorld();
  const stalled = Promise.withResolvers<void>();
  vi.spyOn(AccountObject.prototype, "admit").mockImplementationOnce(async function (
    this: AccountObject,
    ...args
  ) {
    const answer = await admit.apply(this, args);
    await stalled.promise;
    return answer;
  });
  const first = keyed(world, "k");
  await eventually(async () => expect(await countRows(world.user_id)).toBe(1));
  const second = keyed(world, "k");
  await pause(50);
  stalled.resolve();
  const [one, other] = await Promise.all([first, second]);
  expect([one.status, other.status]).toEqual([202, 202]);
  expect(other.body.id).toBe(one.body.id);
  expect(await begun(world)).toEqual([one.body.id]);
});

test("a key is free after exactly 24 h, and goes with the next alarm", async () => {
  stopClock();
  const world = await newWorld();
  const { body: first } = await keyed(world, "k");
  advance(86_399.999);
  expect((await keyed(world, "k")).body.id).toBe(first.id);
  advance(0.001);
  expect((await keyed(world, "k")).body.id).not.toBe(first.id);
  advance(86_400);
  await keepUp(world.user_id);
  expect(await inAccount(world.user_id, "SELECT * FROM keys")).toEqual([]);
});

/** Returns a generator of numbers from 0 to 1: mulberry32. */
function numbers(seed: number) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test("fifty callers with one key, while objects die, run it once", {
  timeout: 3_600_000,
}, async () => {
  const random = numbers(SEED);
  for (let round = 0; round < ROUNDS; round++) {
    const world = await newWorld();
    /** Calls until a create is accepted, as a client that retries does. */
    const call = async (): Promise<string> => {
      for (let tries = 0; tries < 50; tries++) {
        const { status, body } = await keyed(world, "k");
        if (status === 202) return body.id;
        expect([status, body.detail]).toEqual([503, expect.anything()]);
        await pause(10 * random());
      }
      return expect.fail("it was never created");
    };
    const calls = Array.from({ length: 50 }, async () => {
      await pause(40 * random());
      return call();
    });
    const deaths = Array.from({ length: 1 + Math.floor(4 * random()) }, async () => {
      await pause(60 * random());
      await abortAllDurableObjects();
    });
    const ids = await Promise.all(calls);
    await Promise.all(deaths);
    expect({ round, ids: new Set(ids).size }).toEqual({ round, ids: 1 });
    expect({ round, begun: await begun(world) }).toEqual({ round, begun: [ids[0]] });
    await world.client.cancel(ids[0] ?? "");
  }
});
