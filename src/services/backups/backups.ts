/** Backups for the operator: listing them, and reading and receiving their parts. */
import { openPart, sha256 } from "../../domain/backups/seal.ts";
import { conflict, notFound, ProblemError } from "../../errors/errors.ts";
import type { BackupList, BackupUnderWay } from "../../protocol/backup.ts";
import {
  getManifest,
  getPart,
  listBackups as listStored,
  missingParts,
  putManifest,
  putPart,
} from "../../storage/backups/bucket.ts";
import { findLastRun } from "../../storage/backups/runs.ts";
import { recordRead } from "../audit/record.ts";
import type { Services } from "../services.ts";
import { type BackupRun, beginBackup, isBackup } from "./make-backup.ts";
import { hasKey, ofBackup, openManifest, readable, readManifest, requireKey } from "./manifest.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A part has some 1 MB before it is compressed, and 20 large versions 4 MB. */
const MAX_PART_BYTES = 16 * 1024 * 1024;

export async function listBackups(services: Services): Promise<BackupList> {
  const [run, backups] = await Promise.all([
    findLastRun(services.db),
    listStored(services.env.BACKUPS),
  ]);
  const isUnderWay = run?.ended_at === null && isBackup(run);
  return {
    enabled: hasKey(services),
    under_way: isUnderWay ? presentRun(run) : null,
    backups,
  };
}

const presentRun = ({ id, started_at, progress }: BackupRun): BackupUnderWay => ({
  id,
  started_at: new Date(started_at).toISOString(),
  parts: progress.parts,
});

/** Begins a backup, or returns the one that is under way. @throws ProblemError conflict */
export async function startBackup(services: Services): Promise<BackupUnderWay> {
  requireKey(services);
  const run = await findLastRun(services.db);
  if (run?.ended_at !== null) return presentRun(await beginBackup(services, Date.now()));
  if (isBackup(run)) return presentRun(run);
  throw conflict(`The backup '${run.id}' is being restored.`);
}

/** Returns a part as it is stored. @throws ProblemError not_found, conflict */
export async function readStoredPart(
  services: Services,
  id: string,
  number: number,
): Promise<Bytes> {
  const { BACKUPS } = services.env;
  if (number === 0) {
    const sealed = required(await getManifest(BACKUPS, id), id, number);
    await recordRead(services, { action: "backup.read", ...ofBackup(id) });
    return sealed;
  }
  const entry = (await readManifest(services, id)).parts[number - 1];
  return required(entry && (await getPart(BACKUPS, id, number, entry)), id, number);
}

function required(part: Bytes | undefined, id: string, number: number): Bytes {
  if (!part) throw notFound(`Part ${number} of the backup '${id}'`);
  return part;
}

/**
 * Stores a part of a backup that was downloaded; the manifest comes last.
 * @throws ProblemError conflict when it is not what it says, or parts are missing
 */
export async function receivePart(
  services: Services,
  id: string,
  number: number,
  { body, sent }: { body: ReadableStream<Uint8Array> | null; sent: number | undefined },
): Promise<void> {
  requireKey(services);
  if (sent === undefined || body === null)
    throw new ProblemError("bad_request", "Send the unmodified part with a Content-Length header.");
  if (sent > MAX_PART_BYTES)
    throw new ProblemError("too_large", `A part has at most ${MAX_PART_BYTES} bytes.`);
  const part = new Uint8Array(await new Response(body).arrayBuffer());
  const { env, settings } = services;
  if (number > 0) {
    await readable(openPart(settings.backupKeys, { backup: id, number }, part));
    await putPart(env.BACKUPS, id, number, await sha256(part), part);
    return;
  }
  const manifest = await openManifest(settings.backupKeys, id, part);
  const [missing] = await missingParts(env.BACKUPS, manifest);
  if (missing !== undefined)
    throw conflict(`Part ${missing} of the backup '${id}' is missing. Upload it before part 0.`);
  await putManifest(env.BACKUPS, manifest, part);
}
