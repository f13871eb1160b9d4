/** Blobs of repositories: read, mounted from another repository, and removed. */
import {
  type ByteRange,
  isBackward,
  MAX_RANGES,
  parseRange,
  parseRanges,
} from "../../domain/files/byte-range.ts";
import { PART_BYTES } from "../../domain/registry/chunk.ts";
import { ProblemError } from "../../errors/errors.ts";
import { RegistryError } from "../../errors/registry.ts";
import { byteText } from "../../lib/text.ts";
import {
  findBlob,
  findImageBytes,
  findLinkedBlob,
  findOwnLink,
  type LinkedBlob,
  linkBlob,
  replaceObject,
  touchLinks,
  unlinkBlob,
} from "../../storage/registry/blobs.ts";
import { getObject, headObject } from "../../storage/registry/objects.ts";
import type { Caller } from "../access/access.ts";
import { quotaOf, withinQuota } from "../access/storage-quota.ts";
import type { Services } from "../services.ts";
import { openToPull, type Repository, type RepositoryName } from "./repositories.ts";

/**
 * @param isPush whether the caller is a push, which relies on a blob that is found
 * @throws RegistryError BLOB_UNKNOWN
 */
export async function findBlobOf(
  services: Services,
  { id }: Repository,
  digest: string,
  isPush: boolean,
): Promise<LinkedBlob> {
  const blob = await findLinkedBlob(services.db, id, digest);
  if (!blob) throw unknownBlob(digest);
  if (!isPush) return blob;
  // A push does not send a blob that is found: it must be there in R2 as well.
  if (!(await headObject(services.env.IMAGES, blob.key))) throw unknownBlob(digest);
  if ((await touchLinks(services.db, id, [digest], Date.now())).length === 0)
    throw unknownBlob(digest);
  return blob;
}

export const hasBlob = async ({ db }: Services, { id }: Repository, digest: string) =>
  (await findLinkedBlob(db, id, digest)) !== undefined;

/** The headers of a blob or a manifest, which never change. */
export const contentHeaders = (digest: string) => ({
  "docker-content-digest": digest,
  etag: `"${digest}"`,
  // A compressed response would have another length.
  "cache-control": "private, max-age=31536000, immutable, no-transform",
});

/** @throws RegistryError BLOB_UNKNOWN */
export async function readBlob(
  { env }: Services,
  { digest, key, size }: LinkedBlob,
  headers: Headers,
): Promise<Response> {
  const common = {
    ...contentHeaders(digest),
    "content-type": "application/octet-stream",
    "accept-ranges": "bytes",
  };
  if (isKnown(headers, digest)) return new Response(null, { status: 304, headers: common });
  const wished = headers.get("range") ?? undefined;
  const ranges = parseRanges(wished, size);
  if (ranges === "too many") {
    // Podman then asks for fewer ranges.
    const message = `Request at most ${MAX_RANGES} ranges at a time.`;
    throw new RegistryError(400, "SIZE_INVALID", message);
  }
  if (ranges && ranges.length > 1) return severalRanges(env, { key, size }, ranges, common);
  const range = ranges?.[0] ?? (size === 0 ? undefined : parseRange(wished, size));
  if (range === "unsatisfiable" || isBackward(wished)) {
    const message = `Range not satisfiable: the blob has ${size} bytes.`;
    throw new RegistryError(416, "SIZE_INVALID", message, { "content-range": `bytes */${size}` });
  }
  const length = range ? range.last - range.first + 1 : size;
  const wanted = range ? { range: { offset: range.first, length } } : {};
  const object = await getObject(env.IMAGES, key, wanted);
  if (!object) throw unknownBlob(digest);
  return new Response(object.body, {
    status: range ? 206 : 200,
    headers: {
      ...common,
      "content-length": String(length),
      ...(range && { "content-range": `bytes ${range.first}-${range.last}/${size}` }),
    },
  });
}

/**
 * Returns one part for each range, in the order of the ranges: Podman takes neither fewer nor joined ones.
 */
async function severalRanges(
  { IMAGES }: Services["env"],
  { key, size }: Pick<LinkedBlob, "key" | "size">,
  ranges: ByteRange[],
  common: Record<string, string>,
): Promise<Response> {
  const boundary = crypto.randomUUID();
  const encoder = new TextEncoder();
  const parts = ranges.map(({ first, last }) => ({
    offset: first,
    length: last - first + 1,
    head: encoder.encode(
      `\r\n--${boundary}\r\ncontent-type: ${common["content-type"]}\r\ncontent-range: bytes ${first}-${last}/${size}\r\n\r\n`,
    ),
  }));
  const end = encoder.encode(`\r\n--${boundary}--\r\n`);
  const length = parts.reduce((sum, part) => sum + part.head.length + part.length, end.length);
  const { readable, writable } = new FixedLengthStream(length);
  const write = async (bytes: Uint8Array) => {
    const writer = writable.getWriter();
    await writer.write(bytes).finally(() => writer.releaseLock());
  };
  const copy = async () => {
    for (const { head, offset, length } of parts) {
      await write(head);
      const object = await getObject(IMAGES, key, { range: { offset, length } });
      if (!object) throw new Error(`${key} is gone`);
      await object.body.pipeTo(writable, { preventClose: true, preventAbort: true });
    }
    await write(end);
    await writable.close();
  };
  copy().catch((error: unknown) => writable.abort(error));
  return new Response(readable, {
    status: 206,
    headers: {
      ...common,
      "content-length": String(length),
      "content-type": `multipart/byteranges; boundary=${boundary}`,
    },
  });
}

export const isKnown = (headers: Headers, digest: string): boolean =>
  (headers.get("if-none-match") ?? "")
    .split(",")
    .some((tag) => tag.trim().replace(/^W\//, "") === `"${digest}"`);

/**
 * Makes a blob of another repository one of this one, if the caller may download it there.
 * @param from undefined: any other repository of the caller that the token covers
 * @returns whether the blob is there now; otherwise it has to be sent
 */
export async function mountBlob(
  services: Services,
  caller: Caller,
  to: Repository,
  digest: string,
  from: RepositoryName | undefined,
): Promise<boolean> {
  const source = from
    ? await findSource(services, caller, from)
    : (await findOwnLink(services.db, caller, digest))?.model_id;
  if (source === undefined) return false;
  const blob = await findLinkedBlob(services.db, source, digest);
  if (!blob || !(await headObject(services.env.IMAGES, blob.key))) return false;
  const { id: model_id, owner_id: user_id } = to;
  await requireImageQuota(services, user_id, 0);
  const link = { model_id, user_id, digest, now: Date.now() };
  return withinQuota(services, linkBlob(services.db, link, quotaOf(services, user_id)));
}

/**
 * Returns undefined for a repository that does not exist, or that the caller may not see: a mount then finds
 * nothing, without an error.
 */
async function findSource(
  services: Services,
  caller: Caller,
  from: RepositoryName,
): Promise<string | undefined> {
  try {
    return (await openToPull(services, { caller, granted: undefined }, from)).id;
  } catch (error) {
    if (error instanceof RegistryError) return undefined;
    // The token is limited to other models.
    if (error instanceof ProblemError && error.code === "forbidden") return undefined;
    throw error;
  }
}

/** @throws RegistryError BLOB_UNKNOWN; DENIED while a manifest needs it */
export async function removeBlob(
  { db }: Services,
  { id }: Repository,
  digest: string,
): Promise<void> {
  const outcome = await unlinkBlob(db, id, digest);
  if (outcome === "missing") throw unknownBlob(digest);
  if (outcome === "removed") return;
  throw new RegistryError(
    409,
    "DENIED",
    `A manifest in this repository uses ${digest}. Delete the manifest first.`,
  );
}

const unknownBlob = (digest: string) =>
  new RegistryError(
    404,
    "BLOB_UNKNOWN",
    `Blob ${digest} not found in this repository. Push it first.`,
  );

/** Returns the bytes of the account's images, and of uploads under way. */
async function imageBytes({ db }: Services, userId: string): Promise<number> {
  const { stored, arriving } = await findImageBytes(db, userId, PART_BYTES);
  return stored + arriving;
}

/** @param more bytes that are about to come @throws RegistryError DENIED */
export async function requireImageQuota(
  services: Services,
  userId: string,
  more: number,
): Promise<void> {
  const { imageBytes: limit } = services.settings;
  const used = await imageBytes(services, userId);
  if (used + more <= limit) return;
  throw new RegistryError(
    403,
    "DENIED",
    `The account's images use ${byteText(used)} of ${byteText(limit)}. Delete unused versions and models, or ask the operator to raise IMAGES_GB.`,
  );
}

/** Replaces the lost object of a blob whose bytes were sent again. */
export async function replaceLost(
  { db, env }: Services,
  digest: string,
  key: string,
): Promise<void> {
  const known = await findBlob(db, digest);
  if (known && !(await headObject(env.IMAGES, known.key)))
    await replaceObject(db, digest, known.key, key);
}
