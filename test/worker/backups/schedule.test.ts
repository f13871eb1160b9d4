/** The schedule of backups, their number, and failures. */
import { env } from "cloudflare:workers";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { settings as readSettings } from "../../../src/env.ts";
import { AccountObject } from "../../../src/objects/account/object.ts";
import { sweepBackups } from "../../../src/services/backups/make-backup.ts";
import { backupTable } from "../../../src/storage/backups/tables.ts";
import { run, services } from "../support/accounts.ts";
import {
  backups,
  contentOf,
  download,
  emptyDeployment,
  makeBackup,
  restore,
  restoreSlowly,
  settings,
  storedAccounts,
  upload,
  withKey,
  withoutKey,
} from "../support/backups.ts";
import { captureLog } from "../support/log.ts";
import { inAccount } from "../support/objects.ts";
import { sweep } from "../support/queues.ts";
import { newUser, newWorld, operator } from "../support/world.ts";

const HOUR_MS = 3_600_000;
const { backupKeep } = settings;

beforeEach(async () => {
  withKey();
  await emptyDeployment();
});

afterEach(() => {
  vi.restoreAllMocks();
  settings.backupKeep = backupKeep;
});

afterAll(withoutKey);

const tick = (now: number) => sweepBackups(services, now, 60_000);
const ids = async () => (await backups()).backups.map(({ id }) => id);

test("no backups are made without a key", async () => {
  withoutKey();
  await newUser();
  await sweep();
  expect(await backups()).toEqual({ enabled: false, under_way: null, backups: [] });
  const refused = await operator.json("POST", "/v1/operator/backups");
  expect(refused.status).toBe(409);
});

test("a key that is too short makes no backups, and is logged with each tick", async () => {
  const errors = captureLog("error");
  expect(readSettings(Object.assign({}, env, { BACKUP_KEY: "too-short" })).backupKeys).toEqual([
    "too-short",
  ]);
  withKey("too-short");
  await newUser();
  await tick(Date.now());
  expect(errors.entries()).toMatchObject([
    { message: "Backup interrupted", error: expect.stringContaining("fewer than 32 characters") },
  ]);
  expect(await backups()).toEqual({ enabled: false, under_way: null, backups: [] });
});

test("a deployment with users gets a backup every BACKUP_HOURS, and an empty one gets none", async () => {
  const now = Date.now();
  await tick(now);
  expect(await backups()).toEqual({ enabled: true, under_way: null, backups: [] });
  await newUser();
  await sweep();
  const [first] = await ids();
  expect(first).toBeDefined();
  await tick(Date.now() + 23 * HOUR_MS);
  expect(await ids()).toEqual([first]);
  await tick(Date.now() + 24 * HOUR_MS);
  expect(await ids()).toEqual([expect.any(String), first]);
  const [{ parts, rows, bytes } = expect.fail()] = (await backups()).backups;
  expect(parts).toBeGreaterThan(2);
  expect(rows).toBeGreaterThan(20);
  expect(bytes).toBeGreaterThan(500);
});

test("a backup that is started while one is under way is the same one", async () => {
  await newUser();
  const { id } = await operator.ok<{ id: string }>("POST", "/v1/operator/backups");
  await sweepBackups(services, Date.now(), 0);
  expect((await backups()).under_way).toMatchObject({ id, parts: 1 });
  expect(await operator.ok("POST", "/v1/operator/backups")).toMatchObject({ id, parts: 1 });
  await tick(Date.now());
  expect((await backups()).under_way).toBe(null);
});

test("the newest backups are kept, and parts of unfinished ones are removed after two days", async () => {
  settings.backupKeep = 1;
  await newUser();
  const [, second] = [await makeBackup(60_000), await makeBackup(60_000)];
  expect(await ids()).toEqual([second]);
  await env.BACKUPS.put("parts/unfinished/000001-x", "x");
  const next = await makeBackup(60_000);
  const keys = async () => (await env.BACKUPS.list()).objects.map(({ key }) => key.split("/")[1]);
  expect(new Set(await keys())).toEqual(new Set([next, "unfinished"]));
  const later = Date.now() + 49 * HOUR_MS;
  vi.spyOn(Date, "now").mockReturnValue(later);
  await tick(later);
  expect(new Set(await keys()).has("unfinished")).toBe(false);
});

test("an account that fails five times is left out of the backup, and named", async () => {
  captureLog("error");
  const [broken, fine] = [await newWorld(), await newWorld()];
  for (const one of [broken, fine]) await one.waiting();
  const { copy } = AccountObject.prototype;
  vi.spyOn(AccountObject.prototype, "copy").mockImplementation(function (
    this: AccountObject,
    ...args
  ) {
    const found = Reflect.apply(copy, this, args);
    if (found.page.user_id === broken.user_id) throw new Error("it is broken");
    return found;
  });
  const { id } = await operator.ok<{ id: string }>("POST", "/v1/operator/backups");
  for (let n = 1; n < 5; n++) {
    await tick(Date.now());
    expect((await backups()).under_way).toMatchObject({ id });
  }
  await tick(Date.now());
  const { predictions, manifest } = await contentOf(id);
  expect(manifest.left_out).toEqual([broken.user_id]);
  expect(Object.keys(predictions)).toContain(fine.user_id);
  expect(Object.keys(predictions)).not.toContain(broken.user_id);
  const parts = await download(id);
  await emptyDeployment();
  await upload(id, parts);
  expect(await restore(id)).toMatchObject({ done: true, accounts_left_out: [broken.user_id] });
});

test("rows that changed during the backup are restored as far as they fit, and named", async () => {
  const models = backupTable("models") ?? expect.fail();
  const { pageRows } = models;
  models.pageRows = 1;
  const { client, username } = await newUser();
  const publish = (name: string) =>
    client.ok<{ id: string }>("POST", "/v1/models", { name, visibility: "public" });
  const first = await publish("story");
  await publish("other");
  const { id } = await operator.ok<{ id: string }>("POST", "/v1/operator/backups");
  const until = async (table: string) => {
    for (;;) {
      await sweepBackups(services, Date.now(), 0);
      const [row] = await run(
        "SELECT progress ->> '$.position.table' AS at, progress ->> '$.position.after' AS after FROM backup_runs",
      );
      if (row?.at === table) return row;
    }
  };
  // The first model was read and is then replaced by one of its name. A user is added after users were read.
  let at = await until("models");
  while (at.after === null) {
    await sweepBackups(services, Date.now(), 0);
    at = await until("models");
  }
  await client.ok("DELETE", `/v1/models/${username}/story`);
  const second = await publish("story");
  await newUser();
  await tick(Date.now());
  models.pageRows = pageRows;
  const parts = await download(id);
  await emptyDeployment();
  await upload(id, parts);
  const state = await restoreSlowly(id);
  const examples = state.examples.map(({ table, key, reason }) => [
    table,
    JSON.parse(key)[0],
    reason,
  ]);
  expect(examples).toEqual([
    ["models", second.id, "it conflicts with a unique value of another row"],
    ["model_counts", second.id, "it refers to a missing row"],
  ]);
  expect(state.left_out).toBe(examples.length);
  expect(await run("SELECT id FROM models WHERE name = 'story'")).toEqual([{ id: first.id }]);
});

test("a large account is backed up and restored in pages", async () => {
  const world = await newWorld();
  await world.waiting();
  // The account has 1,200 rows with a long error each. 100,000 rows would make 80 times as many pages.
  await inAccount(
    world.user_id,
    `INSERT INTO predictions SELECT p.id || value, object_id, model_id, model_owner, model_name, 1, NULL, NULL, NULL, 0,
      'failed', created_at, updated_at, 1.5, 0.1, 7, NULL, ?, NULL, 0, 9, NULL, 3600, '', '', '', '', NULL, 'cpu', 0
      FROM predictions AS p, json_each(?)`,
    JSON.stringify({ source: "external", message: "e".repeat(500), detail: null }),
    JSON.stringify(Array.from({ length: 1_200 }, (_, n) => String(n).padStart(5, "0"))),
  );
  const before = (await storedAccounts())[world.user_id]?.predictions ?? [];
  const id = await makeBackup(60_000);
  const { sizes } = await contentOf(id);
  expect(sizes.length).toBeGreaterThan(3);
  // Each page has at most 300,000 characters as JSON.
  expect(Math.max(...sizes)).toBeLessThan(600_000);
  const parts = await download(id);
  await emptyDeployment();
  await upload(id, parts);
  expect(await restore(id)).toMatchObject({ done: true, left_out: 0 });
  const after = (await storedAccounts())[world.user_id]?.predictions ?? [];
  expect(after.map((row) => row.id)).toEqual(before.map((row) => row.id));
  expect(after.every((row) => row.data_removed === 1)).toBe(true);
});
