/** Multipart uploads of users and runners: creating, receiving parts, deleting. */
import { v7 as uuid } from "uuid";
import { accessToUpload } from "../../domain/accounts/access.ts";
import { ROWS_OF, WRITE_ROWS } from "../../domain/accounts/write-rows.ts";
import { safeName } from "../../domain/files/file-name.ts";
import { lacksCharset } from "../../domain/files/file-type.ts";
import { madeName } from "../../domain/files/media-types.ts";
import { fault, issueAt, ValidationFailure } from "../../domain/schemas/validation.ts";
import { conflict, notFound, ProblemError } from "../../errors/errors.ts";
import { whenClientLeaves } from "../../lib/current-request.ts";
import { Utf8Check } from "../../lib/utf8-check.ts";
import { logger } from "../../log.ts";
import type { SignedQuery } from "../../protocol/file.ts";
import { type CreateUpload, largestUpload, partCount, partSizeFor } from "../../protocol/upload.ts";
import { findTokenOrSession } from "../../storage/accounts/tokens.ts";
import { cached } from "../../storage/cache.ts";
import {
  abortMultipart,
  beginMultipart,
  deleteFile,
  fileKey,
  putPart,
} from "../../storage/files/files.ts";
import {
  claimExpired,
  claimUpload,
  deleteUploads,
  findFileBytes,
  findOwnUploads,
  findPendingUpload,
  findVersionOfUploads,
  insertUpload,
  keepNamed,
  listAccountsWithExpired,
  savePart,
  type UploadRow,
} from "../../storage/files/uploads.ts";
import { type Caller, isSuspended, requireAccess, SUSPENDED } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import { quotaOf, withinQuota } from "../access/storage-quota.ts";
import { chargeRows, withinWriteLimit } from "../access/write-limit.ts";
import type { Services } from "../services.ts";
import { fileQuotaExceeded } from "./file-quota.ts";
import { type PartTarget, requireSignature } from "./signed-urls.ts";

/**
 * The accounts of a round, which get the same share each, so that a large one does not delay the others. Each
 * pending upload costs one call to R2.
 */
const ACCOUNTS = 50;

const ROUND = 250;

/** Limits of one sweep. */
const ROUNDS = 12;

const MAX_MS = 20_000;

/** When a failed or interrupted removal is retried. */
const RETRY_MS = 10 * 60_000;

/** Pending uploads per account: R2 stores the parts of each. */
const MAX_PENDING = 1_000;

const uploadCache = cached({ max: 1_000 }, ({ db }: Services, id: string) =>
  findPendingUpload(db, id),
);
const holderCache = cached({ max: 1_000 }, ({ db }: Services, id: string) =>
  findTokenOrSession(db, id),
);

/** The owner of an upload, and where it is stored. */
export interface Destination {
  user_id: string;
  prediction_id: string | null;
  token_id: string | null;
  maker: string;
  key: string;
}

/**
 * @param given `multipart_id`: of a file whose parts are in R2 already
 * @throws ValidationFailure for a size that is too large
 * @throws ProblemError too_many_requests
 */
export async function beginUpload(
  services: Services,
  id: string,
  { user_id, prediction_id, token_id, maker, key }: Destination,
  { size, mime_type, name }: CreateUpload,
  given: Partial<Pick<UploadRow, "multipart_id" | "details">> = {},
): Promise<UploadRow> {
  const { env, db, settings } = services;
  const part_size = partSizeFor(size, settings.partSizes);
  if (part_size === undefined) {
    const le = largestUpload(settings.partSizes);
    throw new ValidationFailure([
      issueAt(["body", "size"], fault("less_than_equal", { le }), size),
    ]);
  }
  const now = Date.now();
  const account = await findAccount(services, user_id);
  const others = (await account?.declareUpload(size)) ?? 0;
  const facts = { mime_type, name: name ?? madeName("file", mime_type) };
  const multipart_id = given.multipart_id ?? (await beginMultipart(env.FILES, key, facts));
  const row: UploadRow = {
    id,
    user_id,
    prediction_id,
    token_id,
    maker,
    key,
    multipart_id,
    size,
    mime_type,
    name: name ?? null,
    part_size,
    created_at: now,
    completed_at: null,
    expires_at: now + settings.uploadSeconds * 1000,
    removed_at: null,
    is_utf8: false,
    details: given.details ?? null,
  };
  // Pending uploads of a user do not block the output of a model: its prediction limits that instead.
  const bounded = prediction_id === null;
  const { MAX_SAFE_INTEGER: UNLIMITED } = Number;
  const limits = {
    ...quotaOf(services, user_id),
    ...(!bounded && { max_bytes: UNLIMITED, max_total_bytes: UNLIMITED }),
    max_pending: bounded ? MAX_PENDING : UNLIMITED,
    max_file_bytes: settings.fileBytes - others,
  };
  // The upload is removed if its client leaves: nobody else knows of it, and it would count until it expires.
  if (bounded) whenClientLeaves(() => removeUploads(services, [row]));
  const inserting = insertUpload(db, row, limits);
  const inserted = await withinQuota(services, inserting).catch(async (error: unknown) => {
    await abortMultipart(env.FILES, row);
    throw error;
  });
  if (inserted) return row;
  await abortMultipart(env.FILES, row);
  const used = others + (await findFileBytes(db, user_id));
  // The code `too_large` fails a runner's run: another attempt would fail again.
  const code = bounded ? "conflict" : "too_large";
  if (used + size > settings.fileBytes)
    throw fileQuotaExceeded(code, used, size, settings.fileBytes);
  throw new ProblemError(
    "too_many_requests",
    `You have ${MAX_PENDING} pending uploads. Complete or delete some; a pending upload expires after ${settings.uploadSeconds / 3_600} h.`,
    { "retry-after": "60" },
  );
}

export function createUpload(
  services: Services,
  { user_id, token_id, maker }: Caller,
  request: CreateUpload,
): Promise<UploadRow> {
  const id = uuid();
  const key = fileKey(id, safeName(request.name ?? madeName("file", request.mime_type)));
  return beginUpload(services, id, { user_id, prediction_id: null, token_id, maker, key }, request);
}

/** Each part that has arrived has a row until the upload is completed or deleted. */
export const rowsOfParts = ({ completed_at, size, part_size }: UploadRow): number =>
  completed_at === null ? ROWS_OF.part * partCount(size, part_size) : 0;

/** @param what its name in an error. @throws ProblemError not_found, forbidden */
export async function getUpload(
  services: Services,
  caller: Caller,
  id: string,
  what = `The upload '${id}'`,
): Promise<UploadRow> {
  const [row] = await findOwnUploads(services.db, caller.user_id, [id]);
  if (!row) throw notFound(what);
  await requireAccess(services, caller, accessToUpload(caller, row), what);
  return row;
}

/**
 * Streams one part to R2. A part can be sent again: the last one counts.
 * @param body exactly as long as its Content-Length, which the platform enforces
 * @returns the part's ETag
 * @throws ProblemError forbidden, bad_request, not_found, conflict
 */
export async function receivePart(
  services: Services,
  { id, number, length, holder }: PartTarget,
  query: SignedQuery,
  { body, sent }: { body: ReadableStream | null; sent: number | undefined },
): Promise<string> {
  await requireSignature(services, ["part", id, number, length, holder], query);
  if (sent !== length || !body) {
    const actual = sent === undefined ? "has no Content-Length" : `has ${sent}`;
    throw new ProblemError(
      "bad_request",
      `Part ${number} must have exactly ${length} bytes; this request ${actual}.`,
    );
  }
  const [row] = await Promise.all([uploadCache.get(services, id), requireHolder(services, holder)]);
  if (!row) throw notFound(`The upload '${id}'`);
  if (isSuspended(row)) throw new ProblemError("forbidden", SUSPENDED);
  const check = lacksCharset(row.mime_type) ? new Utf8Check() : undefined;
  const content = check ? seen(body, length, check) : body;
  const cost = { rows: WRITE_ROWS.putPart, bytes: length };
  return withinWriteLimit(services, row.user_id, cost, async ({ db, env }) => {
    const part = row.completed_at === null && (await putPart(env.FILES, row, number, content));
    if (!part) {
      uploadCache.forget(id);
      throw conflict("This upload accepts no more parts: it was completed or deleted.");
    }
    const utf8_edges = check?.edges ?? null;
    await savePart(db, { upload_id: id, part_number: number, etag: part.etag, utf8_edges });
    return `"${part.etag}"`;
  });
}

/** R2 requires the length of a stream. */
function seen(body: ReadableStream<Uint8Array>, length: number, check: Utf8Check) {
  const passing = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      check.add(bytes);
      controller.enqueue(bytes);
    },
  });
  return body.pipeThrough(passing).pipeThrough(new FixedLengthStream(length));
}

/** @throws ProblemError forbidden once the URL's token or session has ended */
async function requireHolder(services: Services, holder: string | null): Promise<void> {
  if (holder === null) return;
  const found = await holderCache.get(services, holder);
  if (found && (found.expires_at === null || found.expires_at > Date.now())) return;
  throw new ProblemError(
    "forbidden",
    "The token or session that this URL was issued to has ended. GET /v1/uploads/{id} with another token returns new ones.",
  );
}

/**
 * Cancels a pending upload, or deletes the file of a completed one.
 * @throws ProblemError not_found; conflict for a file that a version names, and on a concurrent change
 */
export async function deleteUpload(
  services: Services,
  caller: Caller,
  id: string,
  what?: string,
): Promise<void> {
  const row = await getUpload(services, caller, id, what);
  await chargeRows(services, rowsOfParts(row));
  if (!(await claimUpload(services.db, row, Date.now()))) {
    const named = await findVersionOfUploads(services.db, [id]);
    if (named) {
      throw conflict(
        `The version '${named.owner}/${named.name}:${named.number}' uses this file as weights. Delete the version first.`,
      );
    }
    throw conflict("The upload was completed or used by another request. Try again.");
  }
  const [failure] = await removeUploads(services, [row]);
  if (failure !== undefined) throw failure;
}

/**
 * Removes uploads that have been claimed for removal, which hides them. Files are deleted before their
 * rows, so that no file is left without one.
 * @returns the errors of those that remain
 */
export async function removeUploads({ env, db }: Services, rows: UploadRow[]): Promise<unknown[]> {
  const aborts = await Promise.allSettled(
    rows.map(async (row) => row.completed_at === null && (await abortMultipart(env.FILES, row))),
  );
  const removed = rows.filter((_, n) => aborts[n]?.status === "fulfilled");
  // A pending upload may already be complete in R2. A runner's completed file belongs to its prediction.
  const files = removed.filter((row) => row.completed_at === null || row.prediction_id === null);
  if (files.length > 0) await deleteFile(env.FILES, ...files.map(({ key }) => key));
  const ids = removed.map(({ id }) => id);
  if (ids.length > 0) await deleteUploads(db, ids);
  for (const id of ids) uploadCache.forget(id);
  return aborts.flatMap((abort) => (abort.status === "rejected" ? [abort.reason] : []));
}

/** After a change, this isolate forgets the upload at once; others notice when R2 refuses a part. */
export const forgetUpload = uploadCache.forget;

/** Removes expired uploads: abandoned pending ones, and files that no prediction and no version uses. */
export async function sweepUploads(services: Services, now: number): Promise<void> {
  const end = Date.now() + MAX_MS;
  for (let round = 0; round < ROUNDS && Date.now() < end; round++) {
    const users = (await listAccountsWithExpired(services.db, now, ACCOUNTS)).map(
      ({ user_id }) => user_id,
    );
    if (users.length === 0) return;
    const each = Math.floor(ROUND / users.length);
    const again = now + RETRY_MS;
    // Uploads that a version names stay: the sweep looks at them again after the usual retention time.
    const until = now + services.settings.retentionSeconds * 1000;
    await keepNamed(services.db, { users, each, now, until });
    const taken = await claimExpired(services.db, { users, each, now, again });
    const failures = await removeUploads(services, taken).catch((error: unknown) => [error]);
    if (failures.length === 0) continue;
    logger.error("Expired uploads not removed", { count: failures.length, error: failures[0] });
  }
}
