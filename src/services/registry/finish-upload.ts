/** The end of an upload: its bytes become a blob, if their digest is the one that was announced. */
import { MAX_PUT_BYTES } from "../../domain/registry/chunk.ts";
import { ResumableHash } from "../../domain/registry/resumable-hash.ts";
import { RegistryError } from "../../errors/registry.ts";
import { hex } from "../../lib/hex.ts";
import { completeMultipart, isStale, putPart } from "../../storage/files/files.ts";
import { type BlobPlace, takeBlob } from "../../storage/registry/blobs.ts";
import {
  getObject,
  headObject,
  isOtherDigest,
  objectKey,
  putObject,
} from "../../storage/registry/objects.ts";
import {
  endUpload,
  listUploadParts,
  type RegistryUploadRow,
  renewUpload,
  takeUpload,
} from "../../storage/registry/uploads.ts";
import { quotaOf, withinQuota } from "../access/storage-quota.ts";
import type { Services } from "../services.ts";
import { replaceLost } from "./blobs.ts";
import type { Repository } from "./repositories.ts";
import { offsetOf, superseded } from "./upload-writer.ts";
import { type Arriving, beginUpload } from "./uploads.ts";

/**
 * How often an upload that only one request knows is renewed: the sweep ends it after 10 minutes without
 * that.
 */
const RENEW_MS = 2 * 60_000;

/**
 * Ends an upload.
 * @throws RegistryError DIGEST_INVALID: the upload is ended then; BLOB_UPLOAD_UNKNOWN
 */
export async function finishUpload(
  services: Services,
  upload: RegistryUploadRow,
  digest: string,
): Promise<void> {
  const { db } = services;
  const isSha256 = digest.startsWith("sha256:");
  const arrived = new ResumableHash(upload.hash).digest();
  if (isSha256 && arrived !== digest) throw await refuse(services, upload, digest, arrived);
  if (!(await takeUpload(db, upload, crypto.randomUUID(), Date.now()))) throw superseded();
  const key = await assemble(services, upload);
  if (!isSha256) {
    const read = await digestOf(services, key, "SHA-512");
    if (read !== digest)
      throw await refuse(services, { ...upload, multipart_id: null, rest_key: key }, digest, read);
  }
  await keepBlob(services, { digest, key, size: offsetOf(upload) }, upload);
}

/**
 * Stores a whole blob of known length from one request: R2 itself checks the digest, and JavaScript does not
 * touch the bytes. The blob has an upload of its own meanwhile, which only this request knows.
 * @returns false if it has to be stored in parts, for its size
 * @throws RegistryError DIGEST_INVALID, DENIED; ProblemError
 */
export async function putWholeBlob(
  services: Services,
  repository: Repository,
  digest: string,
  { body, length, check }: Arriving,
): Promise<boolean> {
  if (length === undefined || length > MAX_PUT_BYTES) return false;
  const key = objectKey();
  const upload = await beginUpload(services, repository, { length, key });
  const renewing = setInterval(() => renewUpload(services.db, upload.id, Date.now()), RENEW_MS);
  try {
    await putObject(services.env.IMAGES, key, length === 0 || !body ? "" : body, digest);
    await check();
  } catch (error) {
    await endUpload(services.db, upload);
    if (isOtherDigest(error)) throw otherDigest(digest);
    throw error;
  } finally {
    clearInterval(renewing);
  }
  await keepBlob(services, { digest, key, size: length }, upload);
  return true;
}

async function keepBlob(
  services: Services,
  blob: BlobPlace,
  upload: RegistryUploadRow,
): Promise<void> {
  const { db } = services;
  const { model_id, user_id } = upload;
  await replaceLost(services, blob.digest, blob.key);
  const link = { model_id, user_id, digest: blob.digest, now: Date.now() };
  // If this fails, the upload still names the object: a client that repeats the PUT finds it, or the sweep
  // does in a day.
  await withinQuota(services, takeBlob(db, blob, link, quotaOf(services, user_id), upload));
}

/** @returns the key of the whole blob */
async function assemble({ db, env }: Services, upload: RegistryUploadRow): Promise<string> {
  const { id, key, multipart_id, parts, rest_key } = upload;
  if (multipart_id === null) {
    if (rest_key !== null) return rest_key;
    await putObject(env.IMAGES, key, "");
    return key;
  }
  const place = { key, multipart_id };
  const etags = (await listUploadParts(db, id)).map(({ etag }) => etag);
  if (rest_key !== null) {
    const rest = await getObject(env.IMAGES, rest_key);
    const last = rest && (await putPart(env.IMAGES, place, parts + 1, rest.body));
    if (last) etags.push(last.etag);
  }
  try {
    if (await completeMultipart(env.IMAGES, place, etags)) return key;
  } catch (error) {
    if (!isStale(error)) throw error;
    await endUpload(db, upload);
    throw new RegistryError(
      400,
      "BLOB_UPLOAD_INVALID",
      "Two requests wrote to this upload at once. Start a new upload.",
    );
  }
  // The upload was completed by a request whose response got lost.
  if ((await headObject(env.IMAGES, key))?.size === offsetOf(upload)) return key;
  throw new RegistryError(404, "BLOB_UPLOAD_UNKNOWN", "This upload has ended. Start a new upload.");
}

/**
 * Computes the digest from R2, natively: while the bytes arrived, it was not known that SHA-512 would be
 * used.
 */
async function digestOf({ env }: Services, key: string, algorithm: "SHA-512"): Promise<string> {
  const object = await getObject(env.IMAGES, key);
  if (!object) return "";
  const stream = new crypto.DigestStream(algorithm);
  await object.body.pipeTo(stream);
  return `sha512:${hex(await stream.digest)}`;
}

async function refuse(
  { db }: Services,
  upload: RegistryUploadRow,
  digest: string,
  arrived: string,
): Promise<RegistryError> {
  await endUpload(db, upload);
  return otherDigest(digest, arrived);
}

const otherDigest = (digest: string, arrived?: string) =>
  new RegistryError(
    400,
    "DIGEST_INVALID",
    `Digest mismatch: expected ${digest}${arrived ? `, received ${arrived}` : ""}. Send it again.`,
  );
