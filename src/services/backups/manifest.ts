/** The manifest of a backup, and whether this version can restore it. */
import { ACCOUNT_TABLE_NAMES, ACCOUNT_TABLES } from "../../domain/backups/progress.ts";
import { openPart, UnreadablePart } from "../../domain/backups/seal.ts";
import { conflict, notFound } from "../../errors/errors.ts";
import { type Manifest, manifest } from "../../protocol/backup.ts";
import { getManifest } from "../../storage/backups/bucket.ts";
import { BACKUP_TABLES } from "../../storage/backups/tables.ts";
import type { Services } from "../services.ts";

const LEAST = 32;

/** The tables and columns that this version backs up. */
export const COLUMNS: Manifest["columns"] = Object.fromEntries([
  ...BACKUP_TABLES.map(({ name, columns }) => [name, columns]),
  ...ACCOUNT_TABLE_NAMES.map((name) => [`account.${name}`, ACCOUNT_TABLES[name].columns]),
]);

/** The account and the target of an entry of the audit log about a backup. */
export const ofBackup = (id: string) => ({
  account_id: null,
  targets: [{ type: "backup", id, name: id }],
});

/** @throws ProblemError not_found, conflict when it cannot be read */
export async function readManifest({ env, settings }: Services, id: string): Promise<Manifest> {
  const sealed = await getManifest(env.BACKUPS, id);
  if (!sealed) throw notFound(`A whole backup '${id}'`);
  return openManifest(settings.backupKeys, id, sealed);
}

/** @throws ProblemError conflict */
export async function openManifest(
  keys: string[],
  id: string,
  sealed: Uint8Array<ArrayBuffer>,
): Promise<Manifest> {
  const text = await readable(openPart(keys, { backup: id, number: 0 }, sealed));
  const result = manifest.safeParse(JSON.parse(text));
  if (!result.success) throw conflict(`${OTHER_VERSION} Its manifest has a different format.`);
  return result.data;
}

/** @throws ProblemError conflict instead of UnreadablePart */
export const readable = <Result>(reading: Promise<Result>): Promise<Result> =>
  reading.catch((error: unknown) => {
    throw error instanceof UnreadablePart ? conflict(error.message) : error;
  });

const OTHER_VERSION =
  "The backup was made by another version of Auspex. Deploy that version, restore the backup, then update.";

/** @throws ProblemError conflict when tables or columns differ */
export function requireSameTables({ columns }: Manifest): void {
  const theirs = namesIn(columns);
  const ours = namesIn(COLUMNS);
  const missing = ours.filter((name) => !theirs.includes(name)).map((name) => `no ${name}`);
  const more = theirs.filter((name) => !ours.includes(name)).map((name) => `also ${name}`);
  const all = [...missing, ...more];
  if (all.length === 0) return;
  throw conflict(`${OTHER_VERSION} It has ${all.slice(0, 5).join(", ")}.`);
}

const namesIn = (columns: Manifest["columns"]) =>
  Object.entries(columns).flatMap(([table, names]) => names.map((name) => `${table}.${name}`));

export const hasKey = ({ settings: { backupKeys } }: Pick<Services, "settings">): boolean =>
  backupKeys.length > 0 && backupKeys.every(({ length }) => length >= LEAST);

/** @throws ProblemError conflict */
export function requireKey(services: Pick<Services, "settings">): void {
  if (hasKey(services)) return;
  const { length } = services.settings.backupKeys;
  throw conflict(
    length === 0
      ? `Set the secret BACKUP_KEY first, with at least ${LEAST} random characters.`
      : `The secret BACKUP_KEY has fewer than ${LEAST} characters. Set a longer, random one.`,
  );
}
