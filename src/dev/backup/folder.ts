/** A backup in a folder: a file for each part, as it was encrypted, and one that says what they are. */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openPart, sha256 } from "../../domain/backups/seal.ts";
import { type Backup, backup, manifest, partContent } from "../../protocol/backup.ts";
import type { BackupApi, Bytes } from "./api.ts";

const SUMMARY = "backup.json";

const fileOf = (folder: string, number: number) =>
  join(folder, number === 0 ? "manifest" : `part-${String(number).padStart(6, "0")}`);

/**
 * Parts that are there are not downloaded again.
 * @param onPart is told how many are there
 * @throws Error when the folder has another backup: parts of both together would be neither
 */
export async function download(
  api: BackupApi,
  found: Backup,
  folder: string,
  onPart: (parts: number) => void,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const known = await findSummary(folder);
  if (known && known.id !== found.id)
    throw new Error(`${folder} has another backup, ${known.id}: name another folder.`);
  await write(join(folder, SUMMARY), JSON.stringify(found, null, 2));
  for (const number of numbersOf(found)) {
    const file = fileOf(folder, number);
    if (!(await read(file))) await write(file, await api.part(found.id, number));
    onPart(number);
  }
}

/** The manifest is written last: the backup is not whole without it. */
export async function upload(
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
export async function verify(folder: string, keys: string[]): Promise<Map<string, number>> {
  const { id } = await readSummary(folder);
  const open = async (number: number, part: Bytes) =>
    JSON.parse(await openPart(keys, { backup: id, number }, part)) as unknown;
  const { parts } = manifest.parse(await open(0, await readPart(folder, 0)));
  const rows = new Map<string, number>();
  for (const [n, entry] of parts.entries()) {
    const part = await readPart(folder, n + 1);
    if ((await sha256(part)) !== entry.sha256)
      throw new Error(`${fileOf(folder, n + 1)} was changed.`);
    partContent.parse(await open(n + 1, part));
    rows.set(entry.table, (rows.get(entry.table) ?? 0) + entry.rows);
  }
  return rows;
}

const numbersOf = ({ parts }: Backup) => Array.from({ length: parts + 1 }, (_, n) => n);

export async function readSummary(folder: string): Promise<Backup> {
  const found = await findSummary(folder);
  if (!found) throw new Error(`${folder} has no ${SUMMARY}: it is no backup.`);
  return found;
}

async function findSummary(folder: string): Promise<Backup | undefined> {
  const text = await read(join(folder, SUMMARY));
  return text && backup.parse(JSON.parse(new TextDecoder().decode(text)));
}

async function readPart(folder: string, number: number): Promise<Bytes> {
  const part = await read(fileOf(folder, number));
  if (!part) throw new Error(`${fileOf(folder, number)} is missing: download the backup again.`);
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
