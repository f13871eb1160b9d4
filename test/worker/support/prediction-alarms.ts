/** A prediction just before each of its deadlines, and the checks of the result. */
import { abortAllDurableObjects } from "cloudflare:test";
import { expect } from "vitest";
import type { Deadline } from "../../../src/domain/predictions/deadlines.ts";
import type { TaskStatus } from "../../../src/protocol/prediction.ts";
import { claimResponse } from "../../../src/protocol/runner.ts";
import { services } from "./accounts.ts";
import { newBudget, ranBefore, setPrice } from "./budgets.ts";
import { newEndpoint } from "./endpoints.ts";
import { eventually } from "./eventually.ts";
import { keysBelow, storeFile } from "./files.ts";
import { changeSpec, inAccount, objectOf, rowOf, tablesOf } from "./objects.ts";
import { addressOf, exchanged, freshPath, script } from "./receiver.ts";
import type { FakeRunner } from "./runner.ts";
import { statusOf } from "./short-runs.ts";
import { advance, passes } from "./time.ts";
import { alarmOf, ledger, payloadOf, READY, settled } from "./webhooks.ts";
import type { World } from "./world.ts";

export interface Row {
  /** Silent runners count against their token, and budgets against their account: such a row has a world of its own. */
  needsWorld?: true;
  /** Makes a prediction, and lets time pass until the deadline is over. */
  make: (world: World) => Promise<Due>;
  check: (world: World, due: Due) => Promise<void>;
}

export interface Due {
  id: string;
  /** The path of the receiver of its webhooks. */
  path?: string;
  endpoint?: string;
  /** The runner that has its job, or should get it. */
  runner?: FakeRunner;
  finish?: () => Promise<void>;
  /** When the runner that calls `finish` was last heard, unix ms, or later. */
  heardAt?: number;
}

const DAY = 86_400;
/** A runner that is not heard for so long loses its lease. */
const LEASE_MS = 30_000;
/** The time of a poll, which gets waiting jobs at once. A job that an ended poll gets counts as late. */
const POLL_MS = 400;
/** The time of a poll that always gets the job, however slow the machine is. */
const ANSWERED_MS = 30_000;

/**
 * Expects one end, also in the prediction's row and in the account's usage, and only the removal of data to
 * be due.
 */
async function expectEnd({ client, user_id }: World, id: string, status: TaskStatus) {
  expect(await client.status(id)).toBe(status);
  expect(await rowOf(id)).toMatchObject({ status });
  const [usage] = await inAccount<{ ended: number; counted: number }>(
    user_id,
    // Runs of `ranBefore` are in no usage, and have no data.
    `SELECT (SELECT count(*) FROM predictions
        WHERE status NOT IN ('pending', 'started') AND data_removed = 0) AS ended,
      (SELECT sum(predictions) FROM usage) AS counted`,
  );
  expect(usage?.counted).toBe(usage?.ended);
  // The account removes the data of a short run, so its object has no alarm.
  const alarm = (await alarmOf(await objectOf(id))) ?? Number.POSITIVE_INFINITY;
  expect(alarm).toBeGreaterThan(Date.now() + (DAY - 60) * 1_000);
}

export const ends =
  (status: TaskStatus): Row["check"] =>
  (world, { id }) =>
    expectEnd(world, id, status);

/** Runs the prediction to its end, on the runner that gets it now or later. */
export const runs: Row["check"] = async (world, due) => {
  if ((await world.client.status(due.id)) !== "succeeded") {
    due.runner ??= await world.runner(3);
    const response = await due.runner.poll({}, AbortSignal.timeout(POLL_MS));
    const { jobs } = claimResponse.parse(await response.json());
    for (const job of jobs) await (await due.runner.connect(job)).succeed("done");
  }
  await expectEnd(world, due.id, "succeeded");
};

/** Expects that the next report of its runner counts. A runner whose report was late has lost its lease by then. */
const goesOn: Row["check"] = async (world, due) => {
  const { id, finish, heardAt = 0 } = due;
  if ((await world.client.status(id)) === "started") {
    if (Date.now() > heardAt + LEASE_MS) return runs(world, due);
    await finish?.();
  }
  await expectEnd(world, id, "succeeded");
};

/** Returns a job that a runner has taken without a report, and a second runner with room. */
async function silent(world: World, pollMs = 2 * POLL_MS) {
  const first = await world.runner();
  const polling = first.take();
  await eventually(async () => expect((await statusOf(world)).free).toBeGreaterThan(0));
  const id = await world.waiting();
  const job = await polling;
  const second = await world.runner();
  const asked = second.poll({}, AbortSignal.timeout(pollMs));
  // An alarm that runs before the pool knows the second runner's free slot hands the job out later.
  await eventually(async () => expect((await statusOf(world)).free).toBeGreaterThan(0));
  return { id, first, job, second, asked };
}

/**
 * Returns a begun prediction whose runner connects again to finish, because its object may have been reset.
 */
async function begun(world: World) {
  const { id, channel, runner, job } = await world.begun();
  return { id, channel, finish: async () => (await runner.connect(job)).succeed("done") };
}

/** Returns a begun prediction for whose first 10 seconds an amount is reserved, of a budget. */
async function begunReserved(world: World, limit: string) {
  await setPrice(world, "3600");
  await ranBefore(world, 10, "10");
  await newBudget(world.client, { limit, window: "total" });
  return begun(world);
}

export const ALARMS: Record<Deadline["kind"], Row> = {
  wait: {
    async make({ client, model }) {
      const prefer = { prefer: "wait=0, cancel" };
      const { id } = (await client.create({ model, input: {} }, prefer)).body;
      advance(1);
      return { id };
    },
    check: ends("canceled"),
  },
  caller: {
    async make(world) {
      const id = await world.waiting();
      const object = await objectOf(id);
      await changeSpec(object, (spec) => ({ ...spec, cancel_on_disconnect: true }));
      await abortAllDurableObjects();
      await world.client.status(id);
      advance(11);
      return { id };
    },
    check: ends("canceled"),
  },
  queue: {
    async make(world) {
      const id = await world.waiting();
      advance(3_601);
      return { id };
    },
    check: ends("failed"),
  },
  redispatch: {
    async make(world) {
      const id = await world.waiting();
      advance(31);
      return { id };
    },
    check: runs,
  },
  connect: {
    async make(world) {
      const id = await world.waiting();
      await (await world.runner()).take();
      advance(6);
      return { id };
    },
    check: runs,
  },
  second: {
    needsWorld: true,
    async make(world) {
      const { id, second: runner, asked } = await silent(world);
      const finish = async () => {
        const { jobs } = claimResponse.parse(await (await asked).json());
        for (const job of jobs) await (await runner.connect(job)).succeed("done");
      };
      asked.catch(() => {});
      advance(1.1);
      return { id, runner, finish };
    },
    async check(world, due) {
      const { finish } = due;
      delete due.finish;
      await finish?.().catch(() => {});
      await runs(world, due);
    },
  },
  missed: {
    needsWorld: true,
    async make(world) {
      const { id, second, asked } = await silent(world, ANSWERED_MS);
      await passes(1.1, id);
      const [job] = claimResponse.parse(await (await asked).json()).jobs;
      const connect = () => second.connect(job ?? expect.fail("nobody else got it"));
      await (await connect()).report([]);
      advance(6);
      return { id, finish: async () => (await connect()).succeed("done"), heardAt: Date.now() };
    },
    check: goesOn,
  },
  lease: {
    async make(world) {
      const { id } = await begun(world);
      advance(31);
      return { id };
    },
    check: runs,
  },
  token: {
    async make(world) {
      const due = await begun(world);
      advance(11);
      return { ...due, heardAt: Date.now() };
    },
    check: goesOn,
  },
  setup: {
    async make(world) {
      const { settings } = services;
      const before = settings.setupTimeoutSeconds;
      settings.setupTimeoutSeconds = 20;
      const id = await world.waiting();
      settings.setupTimeoutSeconds = before;
      const runner = await world.runner();
      const channel = await runner.connect(await runner.take());
      await channel.report([{ event: "setup", data: { phase: "pulling" } }]);
      advance(21);
      return { id };
    },
    check: ends("failed"),
  },
  run: {
    async make(world) {
      const { id, channel } = await begun(world);
      for (let passed = 0; passed < 40; passed += 20) {
        await channel.report([READY]);
        advance(20.5);
      }
      return { id };
    },
    check: ends("failed"),
  },
  extension: {
    needsWorld: true,
    async make(world) {
      const due = await begunReserved(world, "30");
      advance(6);
      return { ...due, heardAt: Date.now() };
    },
    check: goesOn,
  },
  budget: {
    needsWorld: true,
    async make(world) {
      const { id } = await begunReserved(world, "10");
      advance(11);
      return { id };
    },
    check: ends("failed"),
  },
  fallback: {
    async make(world) {
      const id = await world.waiting();
      // The prediction falls back to its own version.
      await changeSpec(await objectOf(id), (spec) => ({
        ...spec,
        fallbacks: [{ after_seconds: 5, spec }],
      }));
      await abortAllDurableObjects();
      await world.client.status(id);
      advance(6);
      return { id };
    },
    check: runs,
  },
  cancel: {
    async make(world) {
      const { id, channel } = await begun(world);
      await world.client.cancel(id);
      await channel.next();
      for (let passed = 0; passed < 60; passed += 20) {
        await channel.report([READY]);
        advance(20.5);
      }
      return { id };
    },
    check: ends("canceled"),
  },
  webhooks: {
    async make({ client, model }) {
      const path = freshPath();
      await script(path, { status: 500 }, { status: 200 });
      const events = ["completed"];
      const endpoint = await newEndpoint(client, { url: addressOf(path), events });
      const { id } = (await client.create({ model, input: {} })).body;
      await client.cancel(id);
      await passes(0, id);
      await settled(client, id, "pending");
      // The next attempt is due, and the isolate's copy of the endpoint is too old.
      advance(11);
      return { id, path, endpoint: endpoint.id };
    },
    async check({ client }, { id, path = "", endpoint = "" }) {
      const [event] = await ledger(client, id);
      expect(event?.deliveries).toMatchObject([{ state: "delivered" }]);
      const told = (await exchanged(path)).map(payloadOf);
      expect(new Set(told.map(({ webhook }) => webhook.id)).size).toBe(1);
      await client.ok("DELETE", `/v1/webhook-endpoints/${endpoint}`);
    },
  },
  retention: {
    async make(world) {
      const { id } = await withFile(world);
      advance(31 * DAY);
      return { id };
    },
    async check({ client }, { id }) {
      expect(await client.get(id)).toMatchObject({ data_removed: true, output: null });
      expect(await rowOf(id)).toMatchObject({ status: "succeeded", data_removed: 1 });
      expect(await keysBelow(id)).toEqual([]);
    },
  },
  forget: {
    async make(world) {
      const { id } = await withFile(world);
      await passes(31 * DAY, id);
      advance(2 * DAY);
      return { id };
    },
    async check(_, { id }) {
      const object = await objectOf(id);
      expect(await tablesOf(object)).toEqual([]);
      expect(await alarmOf(object)).toBeNull();
      expect(await keysBelow(id)).toEqual([]);
    },
  },
};

/** Returns an ended prediction with a file in R2. */
async function withFile(world: World) {
  const id = await world.waiting();
  const runner = await world.runner();
  const { job, channel } = await runner.work();
  await channel.succeed(await storeFile(runner, job, "file"));
  await eventually(async () => expect(await rowOf(id)).toMatchObject({ status: "succeeded" }));
  return { id };
}

/** Options of the model that all these predictions run. */
export const OPTIONS = { configuration: { timeout_seconds: 40 } };
