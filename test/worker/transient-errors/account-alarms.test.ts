/** The alarm of an account object, while each of its platform calls fails in turn. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { v7 as uuid } from "uuid";
import { expect, test, vi } from "vitest";
import { settings } from "../../../src/env.ts";
import { Counters } from "../../../src/objects/account/counters.ts";
import { Upkeep } from "../../../src/objects/account/upkeep.ts";
import { sized } from "../../support/sized.ts";
import { eventually } from "../support/eventually.ts";
import {
  type Account,
  accountOf,
  inAccount,
  objectOf,
  rowOf,
  tablesOf,
} from "../support/objects.ts";
import {
  atEachCall,
  atEachWrite,
  expectFailures,
  goesOff,
  LONG,
} from "../support/one-at-a-time.ts";
import { shortRun } from "../support/short-runs.ts";
import { advance } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

interface Made {
  world: World;
  account: () => Account;
  /** The prediction objects that the part concerns. */
  objects: DurableObjectId[];
}

interface Part {
  /**
   * Lets time pass until the alarm has to do the part. @returns the IDs of the predictions that it concerns
   */
  make: (world: World) => Promise<string[]>;
  check: (made: Made) => Promise<void>;
}

const DAY = 86_400;

async function madeFor({ make }: Part): Promise<Made> {
  const world = await newWorld();
  const ids = await make(world);
  const objects = await Promise.all(ids.map(async (id) => (await objectOf(id)).id));
  const { id } = await theAccount(world);
  return { world, account: () => env.ACCOUNT.get(id), objects };
}

const theAccount = async ({ user_id }: World) =>
  (await accountOf(user_id)) ?? expect.fail("it has no object");

async function ended({ client, waiting }: World): Promise<string> {
  const id = await waiting();
  await client.cancel(id);
  await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "canceled" }));
  return id;
}

/** Adds a row whose prediction was never created, because its create died. */
async function neverBegun(world: World): Promise<string> {
  const object = await objectOf(await ended(world));
  const row = (await object.getRow()) ?? expect.fail("it has no row");
  const id = uuid({ msecs: Date.now() });
  const object_id = env.PREDICTION.newUniqueId().toString();
  const due_at = Date.now() + DAY * 1_000;
  await (await theAccount(world)).put({ ...row, id, object_id, status: "pending", due_at });
  return id;
}

const rows = ({ world }: Made) =>
  inAccount<{ status: string; data_removed: number }>(
    world.user_id,
    "SELECT status, data_removed FROM predictions ORDER BY status",
  );

/** Expects the usage to count each ended prediction once, even if its row is gone. */
async function expectUsage({ world }: Made, predictions: number): Promise<void> {
  const counted = "SELECT sum(predictions) AS predictions FROM usage";
  expect(await inAccount(world.user_id, counted)).toEqual([{ predictions }]);
}

async function expectRemoved({ objects }: Made): Promise<void> {
  for (const id of objects) expect(await tablesOf(env.PREDICTION.get(id))).toEqual([]);
}

/** The parts of the alarm, by the methods that it waits for. */
const PARTS: Record<string, Part> = {
  look: {
    async make(world) {
      await neverBegun(world);
      advance(31 * DAY);
      return [];
    },
    async check(made) {
      expect(await rows(made)).toEqual([
        { status: "canceled", data_removed: 1 },
        { status: "failed", data_removed: 1 },
      ]);
      await expectUsage(made, 2);
    },
  },
  removeDue: {
    async make(world) {
      const { id } = await shortRun(world);
      advance(31 * DAY);
      return [id];
    },
    async check(made) {
      await expectRemoved(made);
      await expectUsage(made, 1);
    },
  },
  trim: {
    async make(world) {
      const ids = [await ended(world), (await shortRun(world)).id];
      // Objects have settings of their own, which the Worker's do not change.
      await runInDurableObject(await theAccount(world), (object) => {
        const full = settings(Reflect.get(object, "env"));
        vi.spyOn(full, "historyBytes", "get").mockReturnValue(1);
      });
      advance(3_600);
      return ids;
    },
    async check(made) {
      expect(await rows(made)).toEqual([]);
      await expectRemoved(made);
      await expectUsage(made, 2);
    },
  },
  removeAll: {
    async make(world) {
      const ids = [(await shortRun(world)).id, await ended(world), await world.waiting()];
      const nothing = { asked: 0, left: true };
      const putOff = vi.spyOn(Upkeep.prototype, "removeAll").mockResolvedValueOnce(nothing);
      await (await theAccount(world)).close(world.user_id);
      putOff.mockRestore();
      advance(61);
      return ids;
    },
    async check(made) {
      await expectRemoved(made);
      const left = `SELECT 1 FROM predictions UNION ALL SELECT 1 FROM usage
        UNION ALL SELECT 1 FROM counts UNION ALL SELECT 1 FROM removals`;
      expect(await inAccount(made.world.user_id, left)).toEqual([]);
    },
  },
  catchUp: {
    async make(world) {
      await ended(world);
      await ended(world);
      advance(601);
      return [];
    },
    async check({ world }) {
      const told = await inAccount(world.user_id, "SELECT published FROM counts");
      expect(told).toEqual([{ published: 2 }]);
    },
  },
};

expectFailures();

/** Methods that other parts call: `publish` is all that `catchUp` does. */
const WITHIN = ["publish"];

/** Returns the names of async methods, which may wait for the platform. */
const asyncMethods = ({ prototype }: { prototype: object }) =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([, { value }]) => value?.constructor.name === "AsyncFunction")
    .map(([name]) => name);

test("the table has every part of the alarm", () => {
  const parts = [Upkeep, Counters].flatMap(asyncMethods);
  expect([...Object.keys(PARTS), ...WITHIN].sort()).toEqual(parts.sort());
});

/** The parts whose calls fail in turn: the first ones for every change, all at night. */
const CASES = Object.entries(PARTS).slice(0, sized(1, Object.keys(PARTS).length));

const workOf = (part: Part) => ({
  prepare: () => madeFor(part),
  act: ({ account }: Made) => goesOff(account),
  repeat: ({ account }: Made) => goesOff(account),
  check: part.check,
});

test.each(CASES)(
  "the part %s completes although each of its calls fails in turn",
  LONG,
  async (_, part) => {
    expect(await atEachCall(workOf(part))).not.toEqual([]);
  },
);

test.each(CASES)(
  "the part %s completes although objects are reset at each write",
  LONG,
  async (_, part) => {
    expect(await atEachWrite(workOf(part))).not.toEqual([]);
  },
);
