/** Makes a backup over several ticks of a minute: each makes some parts. */
import { v7 as uuid } from "uuid";
import type { BackupPosition, BackupProgress } from "../../domain/backups/progress.ts";
import { backupKeyId, sealPart, sha256 } from "../../domain/backups/seal.ts";
import { mapAhead } from "../../lib/streams.ts";
import { logger } from "../../log.ts";
import { type AccountCopy, accountAt } from "../../objects/stubs/account.ts";
import type { AccountPage, Manifest, PartContent } from "../../protocol/backup.ts";
import {
  deleteSome,
  listBackups,
  listBegun,
  putManifest,
  putPart,
  writtenAt,
} from "../../storage/backups/bucket.ts";
import {
  type AccountOfUser,
  isEmpty,
  keyOf,
  listAccountObjects,
  selectRows,
} from "../../storage/backups/rows.ts";
import {
  addPart,
  beginRun,
  deleteRun,
  endRun,
  findLastRun,
  listParts,
  type RunRow,
  setProgress,
} from "../../storage/backups/runs.ts";
import { BACKUP_TABLES } from "../../storage/backups/tables.ts";
import { isDuplicate } from "../../storage/database.ts";
import type { Services } from "../services.ts";
import { COLUMNS, requireKey } from "./manifest.ts";

/** How long an unfinished backup is kept: somebody may be uploading it, part by part. */
const UNFINISHED_MS = 2 * 86_400_000;

/** Calls per sweep, which delete 1,000 parts each. The next sweep deletes the rest. */
const MAX_CALLS = 100;

/**
 * The characters of one call, and of one part unless a single call has more: a part is held in memory several
 * times.
 */
const ACCOUNT_CHARS = 300_000;

const PART_CHARS = 1_000_000;

/** The accounts of one part, and how many are asked at a time. */
const ACCOUNTS = 100;

const AT_ONCE = 5;

/** Attempts with one account, a minute apart, before the backup continues without it. */
const MAX_FAILURES = 5;

const FIRST: BackupPosition = { table: BACKUP_TABLES[0]?.name ?? "", after: null };

/** How long a tick, which comes every minute, begins parts. Its last part takes some seconds more at most. */
const TICK_MS = 20_000;

export interface BackupRun extends RunRow {
  progress: BackupProgress;
}

export const isBackup = (run: RunRow): run is BackupRun => run.progress.kind === "backup";

/**
 * Begins a backup if one is due, and continues one that is under way.
 * @param tickMs until when another part is begun
 */
export async function sweepBackups(
  services: Services,
  now: number,
  tickMs = TICK_MS,
): Promise<void> {
  if (services.settings.backupKeys.length === 0) return;
  try {
    requireKey(services);
    const last = await findLastRun(services.db);
    const underWay = last?.ended_at === null ? last : undefined;
    if (!underWay && !(await isDue(services, last, now))) return;
    const run = underWay ?? (await beginBackup(services, now));
    if (isBackup(run)) await goOn(services, run, tickMs);
  } catch (error) {
    // A duplicate means that another tick wrote the same part; that tick continues.
    if (!isDuplicate(error)) logger.error("Backup interrupted", { error });
  }
}

async function isDue({ db, settings }: Services, last: RunRow | undefined, now: number) {
  if (last && now < last.started_at + settings.backupMs) return false;
  // An empty deployment has nothing to back up, but perhaps something to restore.
  return !(await isEmpty(db));
}

export async function beginBackup({ db, settings }: Services, now: number): Promise<BackupRun> {
  const [key = ""] = settings.backupKeys;
  const progress: BackupProgress = {
    kind: "backup",
    key_id: await backupKeyId(key),
    parts: 0,
    position: FIRST,
    failures: 0,
    left_out: [],
  };
  const run = { id: uuid({ msecs: now }), started_at: now, ended_at: null, progress };
  await beginRun(db, run);
  return run;
}

async function goOn(services: Services, run: BackupRun, tickMs: number): Promise<void> {
  const { db, settings } = services;
  const [key = ""] = settings.backupKeys;
  // A backup whose parts have two keys could not be restored with one.
  if (run.progress.key_id !== (await backupKeyId(key))) return void (await deleteRun(db, run));
  const until = Date.now() + tickMs;
  while (run.progress.position !== null) {
    await makePart(services, run);
    if (Date.now() >= until) return;
  }
  await finish(services, run);
  await removeOldBackups(services);
}

async function makePart(services: Services, run: BackupRun): Promise<void> {
  const { db, env, settings } = services;
  const { progress } = run;
  const { content, next } = await readPart(services, progress).catch(async (error: unknown) => {
    await setProgress(db, run, progress);
    throw error;
  });
  progress.position = next;
  if (!content) return void (await setProgress(db, run, progress));
  progress.parts += 1;
  const number = progress.parts;
  const place = { backup: run.id, number };
  const sealed = await sealPart(settings.backupKeys, place, JSON.stringify(content));
  const hash = await sha256(sealed);
  await putPart(env.BACKUPS, run.id, number, hash, sealed);
  const entry = { ...measured(content), bytes: sealed.length, sha256: hash };
  await addPart(db, run, { number, ...entry });
}

const measured = (content: PartContent) =>
  "table" in content
    ? { table: content.table, rows: content.rows.length }
    : {
        table: "accounts",
        rows: content.accounts
          .map(({ usage, counts, budgets, predictions }) =>
            [usage, counts, budgets, predictions].reduce((sum, { length }) => sum + length, 0),
          )
          .reduce((sum, rows) => sum + rows, 0),
      };

async function finish({ db, env, settings }: Services, run: BackupRun): Promise<void> {
  const now = Date.now();
  const manifest: Manifest = {
    format: 1,
    id: run.id,
    started_at: new Date(run.started_at).toISOString(),
    finished_at: new Date(now).toISOString(),
    columns: COLUMNS,
    parts: await listParts(db, run),
    left_out: run.progress.left_out,
  };
  // The manifest is not written if another tick has ended the run meanwhile.
  if (manifest.parts.length !== run.progress.parts) return;
  const place = { backup: run.id, number: 0 };
  const sealed = await sealPart(settings.backupKeys, place, JSON.stringify(manifest));
  await putManifest(env.BACKUPS, manifest, sealed);
  await endRun(db, run, now);
}

/** A part that was read. Undefined content: there was nothing. */
interface ReadPart {
  content: PartContent | undefined;
  next: BackupPosition;
}

type Moving = Pick<BackupProgress, "position" | "failures" | "left_out">;

/** @param progress where failures are counted */
function readPart(services: Services, progress: Moving): Promise<ReadPart> {
  const { position } = progress;
  if (position === null) return Promise.resolve({ content: undefined, next: null });
  return "table" in position
    ? readTable(services, position)
    : readAccounts(services, position, progress);
}

async function readTable(
  { db }: Services,
  { table: name, after }: Extract<BackupPosition, { table: string }>,
): Promise<ReadPart> {
  const at = BACKUP_TABLES.findIndex((one) => one.name === name);
  const table = BACKUP_TABLES[at];
  if (!table) throw new Error(`the backup is at a table that does not exist: ${name}`);
  const rows = await selectRows(db, table, after);
  const last = rows.at(-1);
  if (last && rows.length === table.pageRows)
    return { content: { table: name, rows }, next: { table: name, after: keyOf(table, last) } };
  const following = BACKUP_TABLES[at + 1];
  const next = following ? { table: following.name, after: null } : { user: "", account: null };
  return { content: last && { table: name, rows }, next };
}

type AccountsPosition = Extract<BackupPosition, { user: string }>;

async function readAccounts(
  services: Services,
  from: AccountsPosition,
  progress: Moving,
): Promise<ReadPart> {
  const pages: AccountPage[] = [];
  let position = from;
  let chars = 0;
  const users = await listAccountObjects(services.db, from.user, from.account !== null, ACCOUNTS);
  const reads = mapAhead(users, AT_ONCE, async (user) => ({
    user,
    copy: await readAccount(services, user, user.id === from.user ? from.account : null).catch(
      (error: unknown) => ({ error }),
    ),
  }));
  for await (const { user, copy } of reads) {
    if ("error" in copy) {
      // The pages that were read before the failure are written first.
      if (pages.length > 0) break;
      if (!isGivenUp(user, copy.error, progress)) throw copy.error;
      position = { user: user.id, account: null };
      continue;
    }
    progress.failures = 0;
    pages.push({ ...copy.page, user_id: user.id });
    chars += JSON.stringify(copy.page).length;
    position = { user: user.id, account: copy.next };
    if (copy.next || chars > PART_CHARS) break;
  }
  const content = pages.length > 0 ? { accounts: pages } : undefined;
  const isLast = users.length < ACCOUNTS && users.at(-1)?.id === position.user;
  const isOver = users.length === 0 || (isLast && position.account === null);
  return { content, next: isOver ? null : position };
}

const readAccount = (
  { env }: Services,
  { account_object }: AccountOfUser,
  from: AccountsPosition["account"],
): Promise<AccountCopy> => accountAt(env, account_object).copy(from, ACCOUNT_CHARS);

/** Whether the backup continues without this account: a backup of all others is better than none. */
function isGivenUp({ id: user_id }: AccountOfUser, error: unknown, progress: Moving): boolean {
  progress.failures += 1;
  if (progress.failures < MAX_FAILURES) return false;
  logger.error("Account not backed up", { user_id, error });
  progress.failures = 0;
  progress.left_out.push(user_id);
  return true;
}

/** Removes backups beyond those that are kept, and the parts of backups that were never finished. */
async function removeOldBackups({ env: { BACKUPS }, settings }: Services): Promise<void> {
  const whole = (await listBackups(BACKUPS)).map(({ id }) => id);
  const kept = new Set(whole.slice(0, settings.backupKeep));
  const old = whole.slice(settings.backupKeep);
  const before = Date.now() - UNFINISHED_MS;
  for (const id of await listBegun(BACKUPS)) {
    if (kept.has(id) || old.includes(id)) continue;
    const at = await writtenAt(BACKUPS, id);
    if (at !== undefined && at < before) old.push(id);
  }
  let calls = 0;
  for (const id of old) {
    let isLeft = true;
    while (isLeft) {
      if (calls++ === MAX_CALLS) return;
      isLeft = await deleteSome(BACKUPS, id);
    }
  }
}
