/** A backup with every kind of row, restored row by row into an empty deployment. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LOST } from "../../../src/domain/backups/history-row.ts";
import type { Model } from "../../../src/protocol/model.ts";
import { giveUp, neighbour, run, settled } from "../support/accounts.ts";
import {
  download,
  emptyDeployment,
  isBackedUp,
  makeBackup,
  restore,
  searchIndexes,
  storedAccounts,
  storedTables,
  upload,
  withKey,
  withoutKey,
} from "../support/backups.ts";
import { newBudget } from "../support/budgets.ts";
import { newModel, referenceOf, VERSION } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { newDeployment } from "../support/deployments.ts";
import { accountOf, inAccount, keepUp, tellCounts } from "../support/objects.ts";
import { setRole, setShare } from "../support/organizations.ts";
import { Repository } from "../support/registry.ts";
import { setVariable } from "../support/variables.ts";
import { newUser, newWorld, operator, unique } from "../support/world.ts";

type Tables = Awaited<ReturnType<typeof storedTables>>;
type Accounts = Awaited<ReturnType<typeof storedAccounts>>;

let before: { tables: Tables; accounts: Accounts; search: object };
let after: typeof before;
let state: Awaited<ReturnType<typeof restore>>;
let owner: Client;
let model: string;
let unended: string[];

beforeAll(async () => {
  withKey();
  const world = await newWorld({ visibility: "public" });
  const elsewhere = await neighbour(world);
  const { running, waiting } = await settled(world, elsewhere.model);
  unended = [running.id, waiting];
  owner = world.client;
  model = world.model;
  // The rows include a deleted version, a released username, and accounts that are half or wholly removed.
  const { digest } = await new Repository(owner, model).pushImage();
  const body = { ...VERSION, container_image_digest: digest };
  await owner.ok("POST", `/v1/models/${model}/versions`, body);
  await owner.ok("DELETE", `/v1/models/${model}/versions/2`);
  // This deleted model's images are still to be released.
  const deleted = `${model}-deleted`;
  await new Repository(owner, deleted).pushImage();
  await owner.ok("DELETE", `/v1/models/${deleted}`);
  const former = await newUser();
  await former.client.ok("PATCH", "/v1/user", { username: unique("renamed") });
  await operator.ok("DELETE", `/v1/operator/usernames/${former.username}`);
  await owner.ok("PUT", `/v1/models/${model}/versions/1/prices`, { prices: { per_run: 1 } });
  await newBudget(owner, { limit: "100", window: "month" });
  await setVariable(owner, referenceOf(await newModel(owner)), "HF_TOKEN", "hf_x");
  await setRole(world, former, "developer");
  await setShare(model, former, "run");
  await newDeployment(former.client, { model, probe: { input: { text: "a" } } });
  await run("INSERT INTO capacity_grants VALUES (?, 'cpu', 2)", former.user_id);
  const { id: shown } = await owner.ok<Model>("GET", `/v1/models/${model}`);
  await run(
    "INSERT INTO examples VALUES (?, ?, 1, 'a prediction', 1, '{}', '\"out\"', 0.5, 1, NULL)",
    unique("example"),
    shown,
  );
  const leaving = await newWorld();
  await leaving.client.cancel((await leaving.client.create({ model, input: {} })).body.id);
  await tellCounts();
  await giveUp(leaving);
  // The counts are removed as two days later, while the model keeps its total.
  await run("DELETE FROM account_counts WHERE user_id = ?", leaving.user_id);
  // Uploads of blobs are not part of a backup.
  await run("DELETE FROM registry_uploads");
  // The values stand for an account whose history was full once.
  const account = (await accountOf(world.user_id)) ?? expect.fail();
  await runInDurableObject(account, (_, { storage }) => {
    for (const name of ["history_end", "trimmed_to"]) storage.kv.put(name, HISTORY_END);
  });
  before = await stored();
  const id = await makeBackup();
  const parts = await download(id);
  await emptyDeployment();
  await upload(id, parts);
  state = await restore(id);
  after = await stored();
}, 60_000);

afterAll(withoutKey);

/** An ID that no prediction has. */
const HISTORY_END = "01000000-0000-7000-8000-000000000000";
const ENDED = /succeeded|failed|canceled/;

const stored = async () => ({
  tables: await storedTables(),
  accounts: await storedAccounts(),
  search: await searchIndexes(),
});

test("the restore is complete, and nothing has to be set again", () => {
  expect(state).toMatchObject({ done: true, left_out: 0, examples: [], accounts_left_out: [] });
  expect(state.restored_parts).toBe(state.parts);
});

test("the backup has every kind of row", () => {
  const empty = Object.entries(before.tables).filter(
    ([name, rows]) => isBackedUp(name) && rows.length === 0,
  );
  expect(empty.map(([name]) => name)).toEqual([]);
});

describe("the database", () => {
  test("the database has the same rows in every table of the backup", () => {
    for (const [name, rows] of Object.entries(before.tables)) {
      if (!isBackedUp(name)) continue;
      const without = (row: object) => ({ ...row, account_object: null, made_at: null });
      expect([name, after.tables[name]?.map(without)]).toEqual([name, rows.map(without)]);
    }
  });

  test("the database has no pools that are made", () => {
    const madeAt = ({ pools = [] }: Tables) => pools.map(({ made_at }) => made_at);
    expect(madeAt(before.tables).some((at) => at !== null)).toBe(true);
    expect(madeAt(after.tables).every((at) => at === null)).toBe(true);
  });

  test("the database has the rows that triggers derive", () => {
    // A row of an account with 0 bytes is not made again.
    const bytes = ({ account_bytes = [] }: Tables) =>
      account_bytes.flatMap(({ user_id, bytes }) => (bytes === 0 ? [] : [[user_id, bytes]]));
    expect(bytes(after.tables)).toEqual(bytes(before.tables));
    expect(after.tables.registry_bytes).toEqual(before.tables.registry_bytes);
    expect(after.tables.listings).toEqual(before.tables.listings);
    expect(after.search).toEqual(before.search);
  });

  test("the database has a new account object for each old one, and none for a deleted account", () => {
    const had = before.tables.users?.filter(
      ({ account_object, deleted_at }) => account_object && !deleted_at,
    );
    expect(Object.keys(after.accounts)).toEqual(had?.map(({ id }) => id).toSorted());
    const objects = (tables: Tables) =>
      tables.users?.flatMap(({ account_object }) => account_object ?? []) ?? [];
    expect(objects(after.tables).filter((id) => objects(before.tables).includes(id))).toEqual([]);
  });
});

describe("an account", () => {
  test("an account has its usage, including predictions that failed by the restore", () => {
    for (const [id, { usage = [] }] of Object.entries(before.accounts)) {
      if (!after.accounts[id]) continue;
      const restored = after.accounts[id]?.usage ?? [];
      const sum = (rows: object[]) =>
        rows.reduce((all, row) => all + Number(Reflect.get(row, "predictions")), 0);
      const failed = before.accounts[id]?.predictions?.filter(
        ({ status }) => !ENDED.test(String(status)),
      );
      expect(sum(restored)).toBe(sum(usage) + (failed?.length ?? 0));
      // A restore leaves measures out: metrics count only what ends from then on.
      const expected = usage.map((row) => ({ ...row, measures: "{}" }));
      expect(restored).toEqual(expect.arrayContaining(failed?.length ? [] : expected));
      expect(after.accounts[id]?.counts).toEqual(before.accounts[id]?.counts);
      expect(after.accounts[id]?.budgets).toEqual(before.accounts[id]?.budgets);
      expect(after.accounts[id]?.facts).toEqual(before.accounts[id]?.facts);
    }
  });

  test("an account has its predictions as history, and unended ones have failed", () => {
    let lost = 0;
    for (const [id, { predictions = [] }] of Object.entries(after.accounts)) {
      const had = before.accounts[id]?.predictions ?? [];
      expect(predictions.length).toBe(had.length);
      for (const [n, row] of predictions.entries()) {
        const was = had[n] ?? {};
        const common = {
          ...was,
          object_id: expect.any(String),
          data_removed: 1,
          kept_seconds: null,
        };
        const hasEnded = ENDED.test(String(was.status));
        if (hasEnded)
          expect(row).toEqual({
            ...common,
            due_at: was.kept_seconds === null && was.data_removed === 0 ? was.due_at : null,
          });
        else
          expect(row).toEqual({
            ...common,
            status: "failed",
            error: LOST,
            cost: 0,
            updated_at: expect.any(Number),
            due_at: expect.any(Number),
          });
        if (!hasEnded) lost += 1;
        expect(row.object_id).not.toBe(was.object_id);
      }
    }
    expect(lost).toBe(unended.length);
  });

  test("an account shows and lists restored predictions, and creates new ones", async () => {
    const [id = ""] = unended;
    expect(await owner.get(id)).toMatchObject({
      status: "failed",
      input: null,
      output: null,
      data_removed: true,
      error: { source: "internal" },
    });
    expect(await owner.cancel(id)).toBe(409);
    const stream = await owner.stream(id);
    expect([204, 404]).toContain(stream.status);
    await stream.text();
    const { items } = await owner.ok<{ items: { id: string }[] }>("GET", "/v1/predictions");
    expect(items.map((one) => one.id)).toEqual(expect.arrayContaining(unended));
    expect(await owner.status((await owner.create({ model, input: {} })).body.id)).toBe("pending");
  });

  test("an account removes files of restored predictions from R2 when they are due", async () => {
    const [[user, { predictions = [] }] = expect.fail()] = Object.entries(after.accounts).filter(
      ([, { predictions = [] }]) => predictions.some(({ due_at }) => due_at !== null),
    );
    const { id } = predictions.find(({ due_at }) => due_at !== null) ?? expect.fail();
    await env.FILES.put(`${id}/image.png`, "png");
    await keepUp(user);
    expect(await env.FILES.head(`${id}/image.png`)).not.toBe(null);
    await inAccount(user, "UPDATE predictions SET due_at = 1 WHERE id = ?", String(id));
    await keepUp(user);
    expect(await env.FILES.head(`${id}/image.png`)).toBe(null);
    const [row] = await inAccount(user, "SELECT * FROM predictions WHERE id = ?", String(id));
    expect(row).toMatchObject({ data_removed: 1, due_at: null });
  });

  test("an account continues its counts from the restored ones", async () => {
    const models = (tables: Tables) =>
      tables.model_counts?.map(({ model_id, predictions_count }) => [model_id, predictions_count]);
    await tellCounts();
    const counts = models(await storedTables()) ?? [];
    const had = models(before.tables) ?? [];
    const risen = counts.filter(([, count], n) => count !== had[n]?.[1]);
    // The test before has created one prediction.
    expect(risen.map(([, count]) => count)).toEqual([
      Number(had.find(([id]) => id === risen[0]?.[0])?.[1]) + 1,
    ]);
  });
});

test("a model is found, and the next version has the next number", async () => {
  const found = await owner.ok<{ items: { name: string }[] }>("GET", `/v1/search/models?q=story`);
  expect(found.items.length).toBeGreaterThan(0);
  expect(await owner.ok("POST", `/v1/models/${model}/versions`, VERSION)).toMatchObject({
    number: 3,
  });
});
