/** `npm run backup -- list | start | download | verify | restore`: downloads backups, and restores them. */
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { openPart, sha256 } from "../../domain/backups/seal.ts";
import { sleep } from "../../lib/timeout.ts";
import {
  type Backup,
  backup,
  manifest,
  partContent,
  type RestoreState,
} from "../../protocol/backup.ts";
import { type BackupApi, type Bytes, Refused } from "./api.ts";

export const USAGE = `npm run backup -- COMMAND

  list                     list the deployment's backups
  start                    start a backup and wait until it is complete
  download [ID] [FOLDER]   download a backup (default: the newest); repeat to resume
  verify FOLDER            decrypt a downloaded backup with BACKUP_KEY
  restore ID | FOLDER      restore into an empty deployment; repeat to resume

Set AUSPEX_URL, and AUSPEX_TOKEN to an operator's token with the scope operator, except for verify.
A restore needs OPERATOR_TOKEN instead. Only verify needs BACKUP_KEY.`;

export interface Command {
  api: () => BackupApi;
  /** Keys of BACKUP_KEY, newest first. */
  keys: string[];
  say: (line: string) => void;
  signal: AbortSignal;
  /** Interval of requests for the state of a backup or restore. */
  lookMs: number;
}

const LOOK_TICKS = 600;

/** @throws Error whose message is for the user */
export async function runCommand([name, first, second]: string[], command: Command): Promise<void> {
  if (name === "list") return list(command);
  if (name === "start") return start(command);
  if (name === "download") return bringOut(command, first, second);
  if (name === "verify" && first !== undefined) return check(command, first);
  if (name === "restore" && first !== undefined) return bringBack(command, first);
  throw new Error(USAGE);
}

async function list({ api, say }: Command): Promise<void> {
  const { enabled, under_way, backups } = await api().list();
  if (!enabled) say("Backups are off. Set the secret BACKUP_KEY (at least 32 characters).");
  if (under_way) say(`${under_way.id}  in progress, ${under_way.parts} parts so far`);
  for (const { id, started_at, parts, rows, bytes } of backups)
    say(`${id}  ${started_at}  ${rows} rows, ${bytes} bytes in ${parts} parts`);
  if (backups.length === 0) say("No backups yet.");
}

async function start({ api, say, signal, lookMs }: Command): Promise<void> {
  const { id } = await api().start();
  say(`Backup ${id} started. It takes a few minutes.`);
  for (let n = 0; n < LOOK_TICKS; n++) {
    if (!(await sleep(lookMs, signal))) return;
    const { under_way, backups } = await api().list();
    if (backups.some((one) => one.id === id)) return say(`Backup ${id} is complete.`);
    if (under_way?.id !== id) throw new Error(`Backup ${id} failed. Check the deployment's log.`);
  }
  say(`Backup ${id} is not complete yet. Check it with: npm run backup -- list`);
}

async function bringOut({ api, say }: Command, id: string | undefined, folder: string | undefined) {
  const found = await api().find(id);
  const target = folder ?? `auspex-backup-${found.id}`;
  await download(api(), found, target, progressOf(found.parts, say));
  say(`Downloaded ${found.id} to ${target}. Verify it with: npm run backup -- verify ${target}`);
}

async function check({ keys, say }: Command, folder: string): Promise<void> {
  const rows = await verify(folder, keys);
  for (const [table, count] of rows) say(`${String(count).padStart(10)}  ${table}`);
  say("All parts are present and can be decrypted.");
}

async function bringBack(command: Command, source: string): Promise<void> {
  const { api, say } = command;
  const isFolder = await stat(source).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder && !z.uuid().safeParse(source).success)
    throw new Error(`${source} is not a folder or a backup ID.`);
  const id = isFolder ? (await readSummary(source)).id : source;
  if (isFolder) await bringParts(command, source, id);
  for (;;) {
    const state = await api().restore(id);
    say(`restored ${state.restored_parts} of ${state.parts} parts, ${state.rows} rows`);
    if (state.done) return report(state, say);
  }
}

/** The deployment has to accept a restore first: a wrong address receives no upload. */
async function bringParts({ api, say }: Command, folder: string, id: string): Promise<void> {
  try {
    await api().restore(id);
  } catch (error) {
    if (!(error instanceof Refused && error.status === 404)) throw error;
    const { parts } = await upload(api(), folder, () => {});
    say(`uploaded ${parts} parts`);
  }
}

function report(state: RestoreState, say: Command["say"]): void {
  const { left_out, examples, accounts_left_out, set_again } = state;
  if (left_out > 0) say(`${left_out} rows were not restored, for example:`);
  for (const { table, key, reason } of examples) say(`  ${table} ${key}: ${reason}`);
  for (const id of accounts_left_out)
    say(`The backup does not include predictions of account ${id}.`);
  const { variables, webhook_endpoints } = set_again;
  if (variables.length + webhook_endpoints.length > 0)
    say("SECRET_KEY differs from the backup's. Append the old key (new,old), or set these again:");
  for (const { model, name } of variables) say(`  variable ${name} of ${model}`);
  for (const { owner, url } of webhook_endpoints)
    say(`  secret of the endpoint ${url} of ${owner}`);
  say("Restored. Everyone has to log in again.");
}

/** Prints every hundredth part, and the last. */
const progressOf = (parts: number, say: Command["say"]) => (number: number) => {
  if (number === parts || (number > 0 && number % 100 === 0)) say(`${number} of ${parts} parts`);
};

const SUMMARY = "backup.json";

const fileOf = (folder: string, number: number) =>
  join(folder, number === 0 ? "manifest" : `part-${String(number).padStart(6, "0")}`);

/**
 * Parts that are there are not downloaded again.
 * @param onPart is told how many are there
 * @throws Error when the folder has another backup: parts of both together would be neither
 */
async function download(
  api: BackupApi,
  found: Backup,
  folder: string,
  onPart: (parts: number) => void,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const known = await findSummary(folder);
  if (known && known.id !== found.id)
    throw new Error(`${folder} contains another backup, ${known.id}. Choose another folder.`);
  await write(join(folder, SUMMARY), JSON.stringify(found, null, 2));
  for (const number of numbersOf(found)) {
    const file = fileOf(folder, number);
    if (!(await read(file))) await write(file, await api.part(found.id, number));
    onPart(number);
  }
}

/** The manifest is written last: the backup is not whole without it. */
async function upload(
  api: BackupApi,
  folder: string,
  onPart: (parts: number) => void,
): Promise<Backup> {
  const found = await readSummary(folder);
  for (const number of [...numbersOf(found).slice(1), 0]) {
    await api.putPart(found.id, number, await readPart(folder, number));
    onPart(number === 0 ? found.parts : number);
  }
  return found;
}

/** Decrypts every part. @returns rows by table @throws UnreadablePart, or Error naming what is missing */
async function verify(folder: string, keys: string[]): Promise<Map<string, number>> {
  const { id } = await readSummary(folder);
  const open = async (number: number, part: Bytes) =>
    JSON.parse(await openPart(keys, { backup: id, number }, part)) as unknown;
  const { parts } = manifest.parse(await open(0, await readPart(folder, 0)));
  const rows = new Map<string, number>();
  for (const [n, entry] of parts.entries()) {
    const part = await readPart(folder, n + 1);
    if ((await sha256(part)) !== entry.sha256)
      throw new Error(`${fileOf(folder, n + 1)} was modified. Download the backup again.`);
    partContent.parse(await open(n + 1, part));
    rows.set(entry.table, (rows.get(entry.table) ?? 0) + entry.rows);
  }
  return rows;
}

const numbersOf = ({ parts }: Backup) => Array.from({ length: parts + 1 }, (_, n) => n);

async function readSummary(folder: string): Promise<Backup> {
  const found = await findSummary(folder);
  if (!found) throw new Error(`${folder} is not a backup: it has no ${SUMMARY}.`);
  return found;
}

async function findSummary(folder: string): Promise<Backup | undefined> {
  const text = await read(join(folder, SUMMARY));
  return text && backup.parse(JSON.parse(new TextDecoder().decode(text)));
}

async function readPart(folder: string, number: number): Promise<Bytes> {
  const part = await read(fileOf(folder, number));
  if (!part) throw new Error(`${fileOf(folder, number)} is missing. Download the backup again.`);
  return part;
}

async function read(file: string): Promise<Bytes | undefined> {
  try {
    return new Uint8Array(await readFile(file));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** The file is written whole or not at all. */
async function write(file: string, content: string | Bytes): Promise<void> {
  await writeFile(`${file}.new`, content, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
