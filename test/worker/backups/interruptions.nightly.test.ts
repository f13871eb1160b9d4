/** Interrupted backups and restores, which still have or write every row once. */
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { sweepBackups } from "../../../src/services/backups/make-backup.ts";
import { restoreBackup } from "../../../src/services/backups/restore.ts";
import { findLastRun } from "../../../src/storage/backups/runs.ts";
import { BACKUP_TABLES, backupTable } from "../../../src/storage/backups/tables.ts";
import { run, services } from "../support/accounts.ts";
import {
  backups,
  contentOf,
  download,
  emptyDeployment,
  expectedContent,
  makeBackup,
  storedAccounts,
  storedTables,
  upload,
  wholeContent,
  withKey,
  withoutKey,
} from "../support/backups.ts";
import { captureLog } from "../support/log.ts";
import { LONG } from "../support/one-at-a-time.ts";
import { newWorld, operator, type World } from "../support/world.ts";

const pages = BACKUP_TABLES.map(({ pageRows }) => pageRows);
let world: World;

beforeAll(async () => {
  withKey();
  // Tables with some rows get several pages.
  for (const table of BACKUP_TABLES) table.pageRows = 6;
  world = await newWorld();
  const other = await newWorld({ visibility: "public" });
  for (const { client, waiting } of [world, other]) {
    await client.cancel(await waiting());
    await waiting();
  }
});

afterEach(() => {
  vi.restoreAllMocks();
});

afterAll(() => {
  withoutKey();
  for (const [n, table] of BACKUP_TABLES.entries()) table.pageRows = pages[n] ?? 1_000;
});

const DOWN = new Error("it is down");

/** Lets the nth call of a method fail, before or after its effect. */
function failAt(object: object, method: string, nth: number, when: "before" | "after") {
  const original: unknown = Reflect.get(object, method);
  if (typeof original !== "function") throw new Error(`no method ${method}`);
  let calls = 0;
  const spy = vi.spyOn(object as Record<string, (...args: unknown[]) => unknown>, method);
  spy.mockImplementation(async function (this: unknown, ...args: unknown[]) {
    calls += 1;
    if (calls === nth && when === "before") throw DOWN;
    const result: unknown = await Reflect.apply(original, this, args);
    if (calls === nth && when === "after") throw DOWN;
    return result;
  });
  return { wasReached: () => calls >= nth };
}

const STEPS = [
  { name: "a part is stored", object: env.BACKUPS, method: "put" },
  { name: "progress is stored", object: env.DB, method: "batch" },
  { name: "an account is read", object: AccountObject.prototype, method: "copy" },
];

async function ticksUntilWhole(id: string): Promise<number> {
  for (let ticks = 1; ticks < 100; ticks++) {
    await sweepBackups(services, Date.now(), 60_000);
    if ((await backups()).backups.some((one) => one.id === id)) return ticks;
  }
  throw new Error("the backup does not end");
}

test.each(STEPS)(
  "a backup whose tick dies when $name goes on with the next",
  LONG,
  async (step) => {
    captureLog("error");
    const expected = await expectedContent();
    for (const when of ["before", "after"] as const) {
      for (let nth = 1; ; nth++) {
        const { id } = await operator.ok<{ id: string }>("POST", "/v1/operator/backups");
        const fault = failAt(step.object, step.method, nth, when);
        const ticks = await ticksUntilWhole(id);
        const wasReached = fault.wasReached();
        vi.restoreAllMocks();
        captureLog("error");
        expect([when, nth, await wholeContent(id)]).toEqual([when, nth, expected]);
        if (!wasReached) {
          expect(ticks).toBe(1);
          expect(nth).toBeGreaterThan(1);
          break;
        }
      }
    }
  },
);

test("a tick that hangs at a part ends when the next tick has written it", async () => {
  const table = backupTable("released_usernames") ?? expect.fail();
  const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
  for (const name of names) await run("INSERT INTO released_usernames VALUES (?, 1)", name);
  const { id } = await operator.ok<{ id: string }>("POST", "/v1/operator/backups");
  // The first tick hangs at its part, while a row of it is deleted and the next tick begins.
  const held = Promise.withResolvers<void>();
  const original = env.BACKUPS.put.bind(env.BACKUPS);
  const reached = Promise.withResolvers<void>();
  let isHeld = false;
  vi.spyOn(env.BACKUPS, "put").mockImplementation(async (...args) => {
    const { progress } = (await findLastRun(services.db)) ?? expect.fail();
    const position = progress.kind === "backup" ? progress.position : null;
    const isThere = position && "table" in position && position.table === table.name;
    if (isThere && !isHeld) {
      isHeld = true;
      reached.resolve();
      await held.promise;
    }
    return (await original(...args)) ?? expect.fail();
  });
  const slow = sweepBackups(services, Date.now(), 60_000);
  await reached.promise;
  await run("DELETE FROM released_usernames WHERE username = 'a'");
  await sweepBackups(services, Date.now(), 0);
  held.resolve();
  await slow;
  await ticksUntilWhole(id);
  const { tables } = await contentOf(id);
  expect(tables[table.name]?.map(({ username }) => username)).toEqual(names.slice(1));
});

const RESTORE_STEPS = [
  { name: "a part is restored", object: env.DB, method: "batch" },
  { name: "an account is restored", object: AccountObject.prototype, method: "restore" },
];

test("a restore that dies at any step goes on", { timeout: 120_000 }, async () => {
  const id = await makeBackup(60_000);
  const parts = await download(id);
  const restored = async () => {
    const accounts = Object.values(await storedAccounts()).map(
      ({ usage, counts, predictions }) => ({
        usage,
        counts,
        predictions: predictions?.map(({ object_id, ...row }) => row),
      }),
    );
    // The uploads of the parts are audited.
    const { backup_runs, backup_parts, audit_entries, keys, users, ...tables } =
      await storedTables();
    const people = users?.map(({ account_object, ...user }) => user);
    return { tables, people, accounts };
  };
  await emptyDeployment();
  await upload(id, parts);
  expect(await restoreBackup(services, id, 60_000)).toMatchObject({ done: true, left_out: 0 });
  const whole = await restored();
  for (const { object, method } of RESTORE_STEPS) {
    for (const when of ["before", "after"] as const) {
      for (let nth = 1; ; nth++) {
        await emptyDeployment();
        await upload(id, parts);
        const fault = failAt(object, method, nth, when);
        await restoreBackup(services, id, 60_000).catch(() => {});
        const wasReached = fault.wasReached();
        vi.restoreAllMocks();
        const state = await restoreBackup(services, id, 60_000);
        expect([method, when, nth, state]).toMatchObject([
          method,
          when,
          nth,
          { done: true, left_out: 0 },
        ]);
        expect([method, when, nth, await restored()]).toEqual([method, when, nth, whole]);
        if (!wasReached) break;
      }
    }
  }
});
