/** Restores a backup into an empty deployment, some parts in each call. */

import type { BatchItem } from "drizzle-orm/batch";
import type { LeftOut, RestoreProgress } from "../../domain/backups/progress.ts";
import { openPart, sha256, UnreadablePart } from "../../domain/backups/seal.ts";
import { keyPrefix } from "../../domain/encryption.ts";
import { conflict } from "../../errors/errors.ts";
import { accountAt, newAccountObjectId } from "../../objects/stubs/account.ts";
import {
  type AccountPage,
  type Manifest,
  type PartContent,
  type PartEntry,
  partContent,
  type RestoreState,
  type SetAgain,
  type StoredRow,
} from "../../protocol/backup.ts";
import { setAccountObject } from "../../storage/accounts/users.ts";
import { insertEntry } from "../../storage/audit/entries.ts";
import { getPart, missingParts } from "../../storage/backups/bucket.ts";
import { checkRows, deleteSeeds, insertRows, isEmpty, keyOf } from "../../storage/backups/rows.ts";
import { addPart, beginRun, endRun, findLastRun, type RunRow } from "../../storage/backups/runs.ts";
import { type BackupTable, backupTable } from "../../storage/backups/tables.ts";
import { isDuplicate, runBatch } from "../../storage/database.ts";
import {
  findEndpointsNotEncryptedWith,
  findVariablesNotEncryptedWith,
} from "../../storage/encrypted.ts";
import { rememberAccountObject } from "../access/accounts.ts";
import { auditEntry } from "../audit/record.ts";
import type { Services } from "../services.ts";
import { ofBackup, readable, readManifest, requireKey, requireSameTables } from "./manifest.ts";

const MAX = 1_000;

/** The characters of one statement: D1 takes a parameter of 2 MB, and a character may have 4 bytes. */
const STATEMENT_CHARS = 400_000;

const ORPHAN = "it refers to a missing row";

const DUPLICATE = "it conflicts with a unique value of another row";

const NO_USER = "its user is missing or deleted";

/** Columns that refer to objects are emptied: the new deployment makes its own objects. */
const OF_OBJECTS: Record<string, StoredRow> = {
  users: { account_object: null },
  pools: { made_at: null },
};

/** How long a call begins parts; its last part takes some seconds more at most. */
const CALL_MS = 15_000;
const ANOTHER = "Another request is restoring this backup. Try again in a minute.";
/** The most left-out rows that the answer names. */
const MAX_EXAMPLES = 100;

interface RestoreRun extends RunRow {
  progress: RestoreProgress;
}

const isRestore = (run: RunRow): run is RestoreRun => run.progress.kind === "restore";

/**
 * Begins to restore a backup, or continues.
 * @param callMs until when another part is begun
 * @throws ProblemError not_found, conflict
 */
export async function restoreBackup(
  services: Services,
  id: string,
  callMs = CALL_MS,
): Promise<RestoreState> {
  requireKey(services);
  const known = await restoreSoFar(services, id);
  const manifest = await readManifest(services, id);
  const run = known ?? (await beginRestore(services, manifest));
  const until = Date.now() + callMs;
  while (run.progress.parts < manifest.parts.length) {
    await restorePart(services, run, manifest).catch((error: unknown) => {
      throw isDuplicate(error) ? conflict(ANOTHER) : error;
    });
    if (Date.now() >= until) break;
  }
  const done = run.progress.parts === manifest.parts.length;
  if (done && run.ended_at === null) await endRun(services.db, run, Date.now());
  const { parts, rows, left_out, examples } = run.progress;
  return {
    id,
    done,
    parts: manifest.parts.length,
    restored_parts: parts,
    rows,
    left_out,
    examples,
    accounts_left_out: manifest.left_out,
    set_again: done ? await findSetAgain(services) : { variables: [], webhook_endpoints: [] },
  };
}

/**
 * Returns whether rows may come that name stored files: a restore is under way, or nobody has used the
 * deployment yet.
 */
export async function awaitsRestore({ db }: Services): Promise<boolean> {
  const last = await findLastRun(db);
  return (last?.ended_at === null && isRestore(last)) || isEmpty(db);
}

/**
 * Finds the restore that is under way. It is called before a part is read, so that no caller uploads a part
 * in vain.
 * @throws ProblemError conflict
 */
async function restoreSoFar({ db }: Services, id: string): Promise<RestoreRun | undefined> {
  const known = await findLastRun(db);
  if (known?.id === id && isRestore(known)) return known;
  if (known?.ended_at !== null && (await isEmpty(db))) return undefined;
  throw conflict(
    "A backup can only be restored into an empty deployment, without users, models or runner tokens.",
  );
}

async function beginRestore(services: Services, manifest: Manifest): Promise<RestoreRun> {
  const { db, env } = services;
  requireSameTables(manifest);
  const [missing] = await missingParts(env.BACKUPS, manifest);
  if (missing !== undefined) throw conflict(`Part ${missing} of the backup is missing.`);
  const progress: RestoreProgress = {
    kind: "restore",
    parts: 0,
    rows: 0,
    left_out: 0,
    examples: [],
  };
  const run = { id: manifest.id, started_at: Date.now(), ended_at: null, progress };
  const entry = auditEntry({ action: "backup.restored", ...ofBackup(manifest.id) });
  await beginRun(db, run, [...deleteSeeds(db), insertEntry(db, entry)]);
  return run;
}

async function restorePart(services: Services, run: RestoreRun, manifest: Manifest): Promise<void> {
  const number = run.progress.parts + 1;
  const entry = manifest.parts[number - 1];
  if (!entry) throw new Error(`the backup has no part ${number}`);
  const content = await readable(readPart(services, run.id, number, entry));
  const added = { ...entry, number };
  if ("accounts" in content) {
    const at = Date.parse(manifest.started_at);
    const restored = await restoreAccounts(services, content.accounts, at);
    run.progress = movedOn(run.progress, restored);
    await addPart(services.db, run, added);
    return;
  }
  const table = backupTable(content.table);
  if (!table) throw conflict(`The backup has an unknown table: ${content.table}.`);
  const { statements, ...restored } = await restoreTable(services, table, content.rows);
  const before = run.progress;
  try {
    run.progress = movedOn(before, restored);
    await addPart(services.db, run, added, statements);
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    const fewer = await restoreOneByOne(services, table, content.rows);
    run.progress = movedOn(before, fewer);
    await addPart(services.db, run, added);
  }
}

const movedOn = (
  { parts, rows, left_out, examples, kind }: RestoreProgress,
  restored: Restored,
): RestoreProgress => ({
  kind,
  parts: parts + 1,
  rows: rows + restored.rows,
  left_out: left_out + restored.leftOut.length,
  examples: [...examples, ...restored.leftOut].slice(0, MAX_EXAMPLES),
});

/** @throws UnreadablePart */
async function readPart(
  { env, settings }: Services,
  id: string,
  number: number,
  entry: PartEntry,
): Promise<PartContent> {
  const part = await getPart(env.BACKUPS, id, number, entry);
  if (!part) throw new UnreadablePart(`Part ${number} of ${id} is missing.`);
  if ((await sha256(part)) !== entry.sha256)
    throw new UnreadablePart(`Part ${number} of ${id} was modified: its hash does not match.`);
  const text = await openPart(settings.backupKeys, { backup: id, number }, part);
  return partContent.parse(JSON.parse(text));
}

interface Restored {
  rows: number;
  leftOut: LeftOut[];
}

/** Statements for the rows that fit; rows that are there already need none. */
async function restoreTable(
  { db }: Services,
  table: BackupTable,
  rows: StoredRow[],
): Promise<Restored & { statements: BatchItem<"sqlite">[] }> {
  const leftOut: LeftOut[] = [];
  const statements: BatchItem<"sqlite">[] = [];
  for (const some of chunksOf(rows.map((row) => asNew(table, row)))) {
    const { present, orphans } = await checkRows(db, table, some);
    for (const n of orphans) leftOut.push(leftOutRow(table, some[n], ORPHAN));
    const isSum = table.name === "model_counts";
    const fitting = some.filter((_, n) => !orphans.has(n) && (isSum || !present.has(n)));
    if (fitting.length > 0) statements.push(insertRows(db, table, fitting));
  }
  return { rows: rows.length - leftOut.length, leftOut, statements };
}

/** Writes row by row a part of which some row is refused. */
async function restoreOneByOne(
  services: Services,
  table: BackupTable,
  rows: StoredRow[],
): Promise<Restored> {
  const leftOut: LeftOut[] = [];
  for (const row of rows) {
    const one = await restoreTable(services, table, [row]);
    leftOut.push(...one.leftOut);
    try {
      await runBatch(services.db, one.statements);
    } catch (error) {
      if (!isDuplicate(error)) throw error;
      leftOut.push(leftOutRow(table, row, DUPLICATE));
    }
  }
  return { rows: rows.length - leftOut.length, leftOut };
}

/**
 * Restores accounts into new objects: the former ones belong to another deployment.
 * @param at when the backup was made
 */
async function restoreAccounts(
  services: Services,
  pages: AccountPage[],
  at: number,
): Promise<Restored> {
  const leftOut: LeftOut[] = [];
  let rows = 0;
  for (const page of pages) {
    const { user_id, usage, counts, budgets, predictions } = page;
    const objectId = await setAccountObject(services.db, user_id, newAccountObjectId(services.env));
    if (objectId === undefined) {
      leftOut.push({ table: "accounts", key: JSON.stringify([user_id]), reason: NO_USER });
      continue;
    }
    rememberAccountObject(user_id, objectId);
    await accountAt(services.env, objectId).restore(page, at);
    rows += usage.length + counts.length + budgets.length + predictions.length;
  }
  return { rows, leftOut };
}

const asNew = ({ name }: BackupTable, row: StoredRow): StoredRow => ({
  ...row,
  ...OF_OBJECTS[name],
});

const leftOutRow = (table: BackupTable, row: StoredRow = {}, reason: string): LeftOut => ({
  table: table.name,
  key: JSON.stringify(keyOf(table, row)),
  reason,
});

function chunksOf(rows: StoredRow[]): StoredRow[][] {
  const chunks: StoredRow[][] = [];
  let room = 0;
  for (const row of rows) {
    const chars = JSON.stringify(row).length;
    const last = chunks.at(-1);
    if (last && chars <= room) last.push(row);
    else {
      chunks.push([row]);
      room = STATEMENT_CHARS;
    }
    room -= chars;
  }
  return chunks;
}

/**
 * The values of a restored backup that no SECRET_KEY of this deployment can decrypt, and that have to be set
 * again.
 */
async function findSetAgain({ db, settings: { secretKeys } }: Services): Promise<SetAgain> {
  const marks = (purpose: "variables" | "webhooks") =>
    Promise.all(secretKeys.map((secret) => keyPrefix(purpose, secret)));
  const [variables, webhook_endpoints] = await Promise.all([
    findVariablesNotEncryptedWith(db, await marks("variables"), MAX),
    findEndpointsNotEncryptedWith(db, await marks("webhooks"), MAX),
  ]);
  return {
    variables: variables.map(({ owner, model, name }) => ({ model: `${owner}/${model}`, name })),
    webhook_endpoints,
  };
}
