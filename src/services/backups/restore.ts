/** Restores a backup into an empty deployment, some parts in each call. */
import type { RestoreProgress } from "../../domain/backups/progress.ts";
import { openPart, sha256, UnreadablePart } from "../../domain/backups/seal.ts";
import { conflict } from "../../errors/errors.ts";
import {
  type Manifest,
  type PartContent,
  type PartEntry,
  partContent,
  type RestoreState,
} from "../../protocol/backup.ts";
import { getPart, missingParts } from "../../storage/backups/bucket.ts";
import { deleteSeeds, isEmpty } from "../../storage/backups/rows.ts";
import { addPart, beginRun, endRun, findLastRun, type RunRow } from "../../storage/backups/runs.ts";
import { backupTable } from "../../storage/backups/tables.ts";
import { isDuplicate } from "../../storage/database.ts";
import type { Services } from "../services.ts";
import { requireKey } from "./key.ts";
import { readable, readManifest, requireSameTables } from "./manifest.ts";
import { type Restored, restoreAccounts, restoreOneByOne, restoreTable } from "./restore-rows.ts";
import { findSetAgain } from "./set-again.ts";

/** How long a call begins parts; its last part takes some seconds more at most. */
const CALL_MS = 15_000;
const ANOTHER = "Another call is restoring this backup just now. Try again in a minute.";
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
    "A backup can only be restored into an empty deployment: one without users, models and runner tokens.",
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
  await beginRun(db, run, deleteSeeds(db));
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
  if (!table) throw conflict(`The backup has a table that this version has not: ${content.table}.`);
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
    throw new UnreadablePart(`Part ${number} of ${id} was changed: its hash differs.`);
  const text = await openPart(settings.backupKeys, { backup: id, number }, part);
  return partContent.parse(JSON.parse(text));
}
