/** Backups: makes them, restores them in an empty deployment, and compares what is stored. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { ACCOUNT_TABLE_NAMES } from "../../../src/domain/backups/progress.ts";
import { openPart } from "../../../src/domain/backups/seal.ts";
import {
  accountFacts,
  type BackupList,
  type BackupUnderWay,
  partContent,
  type RestoreState,
  restoreState,
} from "../../../src/protocol/backup.ts";
import { sweepBackups } from "../../../src/services/backups/make-backup.ts";
import { readManifest } from "../../../src/services/backups/manifest.ts";
import { restoreBackup } from "../../../src/services/backups/restore.ts";
import { sweepListings } from "../../../src/services/models/models.ts";
import { getPart } from "../../../src/storage/backups/bucket.ts";
import { NOT_BACKED_UP } from "../../../src/storage/backups/tables.ts";
import { run, services } from "./accounts.ts";
import { emptyStorage } from "./empty.ts";
import { accountOf, inAccount } from "./objects.ts";
import { operator } from "./world.ts";

export const KEY = "a-backup-key-for-tests-of-32-characters";

type Row = Record<string, unknown>;
type Bytes = Uint8Array<ArrayBuffer>;

export const { settings } = services;

/** Sets the keys of backups. Test files share the settings, so `withoutKey` has to follow. */
export const withKey = (...keys: string[]) => {
  settings.backupKeys = keys.length > 0 ? keys : [KEY];
};

export const withoutKey = () => {
  settings.backupKeys = [];
};

export const backups = () => operator.ok<BackupList>("GET", "/v1/operator/backups");

/** Makes a whole backup, one part in each tick. */
export async function makeBackup(tickMs = 0): Promise<string> {
  const { id } = await operator.ok<BackupUnderWay>("POST", "/v1/operator/backups");
  for (let ticks = 0; ticks < 1_000; ticks++) {
    await sweepBackups(services, Date.now(), tickMs);
    const { backups: whole } = await backups();
    if (whole.some((one) => one.id === id)) return id;
  }
  throw new Error("the backup does not end");
}

const partPath = (id: string, number: number) => `/v1/operator/backups/${id}/parts/${number}`;

/** Returns the parts of a backup as they are stored, the manifest first. */
export async function download(id: string): Promise<Bytes[]> {
  const found = (await backups()).backups.find((one) => one.id === id);
  if (!found) throw new Error(`no backup ${id}`);
  const numbers = Array.from({ length: found.parts + 1 }, (_, n) => n);
  return Promise.all(
    numbers.map(async (n) => {
      const response = await operator.fetch(partPath(id, n));
      if (response.status !== 200) throw new Error(`part ${n}: ${await response.text()}`);
      return new Uint8Array(await response.arrayBuffer());
    }),
  );
}

/** @returns the status and the body */
export async function putPart(id: string, number: number, part: Bytes): Promise<[number, string]> {
  const response = await operator.fetch(partPath(id, number), { method: "PUT", body: part });
  return [response.status, await response.text()];
}

/** Uploads a backup, the manifest last. */
export async function upload(id: string, [manifest, ...parts]: Bytes[]): Promise<void> {
  if (!manifest) throw new Error("no manifest");
  const numbered = [...parts.map((part, n) => [n + 1, part] as const), [0, manifest] as const];
  for (const [number, part] of numbered) {
    const [status, text] = await putPart(id, number, part);
    if (status !== 200) throw new Error(`part ${number}: ${text}`);
  }
}

/** Empties the storage, so that the deployment looks like another one. */
export async function emptyDeployment(): Promise<void> {
  vi.restoreAllMocks();
  await emptyStorage();
}

export const restore = async (id: string): Promise<RestoreState> =>
  restoreState.parse(await operator.ok("POST", `/v1/operator/backups/${id}/restore`));

/** Restores a backup, one part in each call. */
export async function restoreSlowly(id: string): Promise<RestoreState> {
  for (;;) {
    const state = await restoreBackup(services, id, 0);
    if (state.done) return state;
  }
}

/** Sorts rows by their keys, which are the first columns. */
const sorted = (rows: Row[]) =>
  rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

/** Returns the rows of all tables except the search indexes, by table, in the order of their keys. */
export async function storedTables(): Promise<Record<string, Row[]>> {
  await sweepListings(services);
  const names = (await tableNames()).filter((name) => !/words|reading/.test(name));
  const all = await Promise.all(
    names.map(async (name) => [name, sorted(await run(`SELECT * FROM "${name}"`))]),
  );
  return Object.fromEntries(all);
}

/** Returns the tables of the migrations, without those that FTS5 makes for itself. */
export async function tableNames(): Promise<string[]> {
  const rows = await run(
    `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual')
      AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name <> 'd1_migrations'`,
  );
  return rows.map(({ name }) => String(name));
}

/** Returns the rows and facts of the account objects, by user and table. */
export async function storedAccounts(): Promise<Record<string, Record<string, Row[]>>> {
  const users = await run("SELECT id FROM users WHERE account_object IS NOT NULL ORDER BY id");
  const all = users.map(async ({ id }) => {
    const tables = ACCOUNT_TABLE_NAMES.map(async (name) => [
      name,
      sorted(await inAccount<Row>(String(id), `SELECT * FROM ${name}`)),
    ]);
    return [
      id,
      { ...Object.fromEntries(await Promise.all(tables)), facts: await factsOf(String(id)) },
    ];
  });
  return Object.fromEntries(await Promise.all(all));
}

/** Returns the facts of an account object as a row. */
async function factsOf(userId: string): Promise<Row[]> {
  const account = await accountOf(userId);
  if (!account) return [];
  const names = Object.keys(accountFacts.shape);
  return runInDurableObject(account, (_, { storage }) => [
    Object.fromEntries(Array.from(storage.kv.list()).filter(([name]) => names.includes(name))),
  ]);
}

/** Returns the indexes that find models and users. */
export const searchIndexes = async () => ({
  models: await run("SELECT rowid FROM models_words ORDER BY rowid"),
  users: await run("SELECT rowid FROM users_words ORDER BY rowid"),
  // The name `leaving` of a deleted account is in no index.
  words: await run(
    "SELECT owner, word, uses FROM words WHERE word <> 'leaving' ORDER BY owner, word",
  ),
});

export const isBackedUp = (table: string) => NOT_BACKED_UP[table] === undefined;

/** Returns the rows of a backup by table, and those of accounts by user. */
export async function contentOf(id: string) {
  const manifest = await readManifest(services, id);
  const place = (number: number) => ({ backup: id, number });
  const texts = await Promise.all(
    manifest.parts.map(async (entry, n) => {
      const part = await getPart(env.BACKUPS, id, n + 1, entry);
      if (!part) throw new Error(`part ${n + 1} is missing`);
      return openPart(settings.backupKeys, place(n + 1), part);
    }),
  );
  const contents = texts.map((text) => partContent.parse(JSON.parse(text)));
  const pages = contents.flatMap((one) => ("table" in one ? [one] : []));
  const accounts = contents.flatMap((one) => ("accounts" in one ? one.accounts : []));
  const grouped = <Item, Found>(all: Map<string, Item[]>, found: (item: Item) => Found[]) =>
    Object.fromEntries([...all].map(([name, items]) => [name, items.flatMap(found)]));
  const byTable = Map.groupBy(pages, ({ table }) => table);
  const byUser = Map.groupBy(accounts, ({ user_id }) => user_id);
  return {
    tables: grouped(byTable, ({ rows }): Row[] => rows),
    predictions: grouped(byUser, (page) => page.predictions.map((row) => row.id)),
    sizes: texts.map(({ length }) => length),
    manifest,
  };
}

/** Returns what a backup made now should contain. */
export async function expectedContent() {
  const stored = Object.entries(await storedTables());
  const accounts = Object.entries(await storedAccounts());
  return {
    tables: Object.fromEntries(
      stored.filter(([name, rows]) => isBackedUp(name) && rows.length > 0),
    ),
    predictions: Object.fromEntries(
      accounts.map(([id, { predictions = [] }]) => [id, predictions.map((row) => String(row.id))]),
    ),
  };
}

/** Returns the content of a backup, after a check that nothing is missing or there twice. */
export async function wholeContent(id: string) {
  const { tables, predictions } = await contentOf(id);
  const all = Object.entries(tables).map(([name, rows]) => [name, sorted(rows)]);
  return { tables: Object.fromEntries(all), predictions };
}
