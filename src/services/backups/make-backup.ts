/** Makes a backup over several ticks of a minute: each makes some parts. */
import { v7 as uuid } from "uuid";
import type { BackupProgress } from "../../domain/backups/progress.ts";
import { backupKeyId, sealPart, sha256 } from "../../domain/backups/seal.ts";
import { logger } from "../../log.ts";
import type { Manifest, PartContent } from "../../protocol/backup.ts";
import { putManifest, putPart } from "../../storage/backups/bucket.ts";
import { isEmpty } from "../../storage/backups/rows.ts";
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
import { isDuplicate } from "../../storage/database.ts";
import type { Services } from "../services.ts";
import { requireKey } from "./key.ts";
import { COLUMNS } from "./manifest.ts";
import { FIRST, readPart } from "./read-part.ts";
import { removeOldBackups } from "./remove-old.ts";

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
          .map(({ usage, counts, predictions }) => [usage, counts, predictions].flat().length)
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
