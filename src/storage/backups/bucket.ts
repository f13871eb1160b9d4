/**
 * Backups in R2, in a bucket of their own: what deletes files cannot reach them, and they can be locked.
 *
 *   manifests/{id}                 written last: without it a backup is not whole
 *   parts/{id}/{number}-{hash}     a part that a run wrote and then died is just not named
 */
import type { Manifest, PartEntry } from "../../protocol/backup.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The facts that a list shows of a backup, without its key. */
export interface StoredBackup {
  id: string;
  started_at: string;
  finished_at: string;
  parts: number;
  rows: number;
  bytes: number;
}

const partsOf = (id: string) => `parts/${id}/`;
const partKey = (id: string, number: number, sha256: string) =>
  `${partsOf(id)}${String(number).padStart(6, "0")}-${sha256}`;
const manifestKey = (id: string) => `manifests/${id}`;

export const putPart = (bucket: R2Bucket, id: string, number: number, hash: string, part: Bytes) =>
  putOnce(bucket, partKey(id, number, hash), part);

export const getPart = (bucket: R2Bucket, id: string, number: number, { sha256 }: PartEntry) =>
  bytesOf(bucket, partKey(id, number, sha256));

export const putManifest = (bucket: R2Bucket, manifest: Manifest, sealed: Bytes) => {
  const { id, started_at, finished_at, parts } = manifest;
  const sum = (of: "rows" | "bytes") => String(parts.reduce((total, part) => total + part[of], 0));
  return putOnce(bucket, manifestKey(id), sealed, {
    started_at,
    finished_at,
    parts: String(parts.length),
    rows: sum("rows"),
    bytes: sum("bytes"),
  });
};

/** Writes an object unless it exists: a locked bucket refuses to overwrite it. */
async function putOnce(
  bucket: R2Bucket,
  key: string,
  value: Bytes,
  customMetadata: Record<string, string> = {},
): Promise<void> {
  if (!(await bucket.head(key))) await bucket.put(key, value, { customMetadata });
}

export const getManifest = (bucket: R2Bucket, id: string) => bytesOf(bucket, manifestKey(id));

export async function listBackups(bucket: R2Bucket): Promise<StoredBackup[]> {
  const objects = await listAll(bucket, { prefix: "manifests/", include: ["customMetadata"] });
  return objects
    .map(({ key, customMetadata = {} }) => ({
      id: key.slice(manifestKey("").length),
      started_at: customMetadata.started_at ?? "",
      finished_at: customMetadata.finished_at ?? "",
      parts: Number(customMetadata.parts),
      rows: Number(customMetadata.rows),
      bytes: Number(customMetadata.bytes),
    }))
    .toReversed();
}

export async function missingParts(bucket: R2Bucket, { id, parts }: Manifest): Promise<number[]> {
  const objects = await listAll(bucket, { prefix: partsOf(id) });
  const stored = new Set(objects.map(({ key }) => key));
  return parts.flatMap(({ sha256 }, n) => (stored.has(partKey(id, n + 1, sha256)) ? [] : [n + 1]));
}

export async function listBegun(bucket: R2Bucket): Promise<string[]> {
  const { delimitedPrefixes } = await bucket.list({ prefix: "parts/", delimiter: "/" });
  return delimitedPrefixes.map((prefix) => prefix.slice("parts/".length, -1));
}

/** Returns when one of the backup's parts was written, Unix ms. */
export async function writtenAt(bucket: R2Bucket, id: string): Promise<number | undefined> {
  const { objects } = await bucket.list({ prefix: partsOf(id), limit: 1 });
  return objects[0]?.uploaded.getTime();
}

/**
 * Deletes some of a backup's objects, its manifest first, so that an incomplete backup has none.
 * @returns whether any part is left
 */
export async function deleteSome(bucket: R2Bucket, id: string): Promise<boolean> {
  await bucket.delete(manifestKey(id));
  const { objects, truncated } = await bucket.list({ prefix: partsOf(id) });
  if (objects.length > 0) await bucket.delete(objects.map(({ key }) => key));
  return truncated;
}

async function listAll(bucket: R2Bucket, options: R2ListOptions): Promise<R2Object[]> {
  const objects: R2Object[] = [];
  let cursor: string | undefined;
  do {
    const page = await bucket.list({ ...options, ...(cursor !== undefined && { cursor }) });
    objects.push(...page.objects);
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
  return objects;
}

async function bytesOf(bucket: R2Bucket, key: string): Promise<Bytes | undefined> {
  const object = await bucket.get(key);
  return object ? new Uint8Array(await object.arrayBuffer()) : undefined;
}
