/** Uploads of blobs: beginning, continuing in one request or many, and ending them. */
import { MAX_BLOB_BYTES, PART_BYTES } from "../../domain/registry/chunk.ts";
import { ResumableHash } from "../../domain/registry/resumable-hash.ts";
import { RegistryError } from "../../errors/registry.ts";
import { BudgetExceeded, ByteBudget, Held } from "../../lib/byte-budget.ts";
import { whenClientLeaves } from "../../lib/current-request.ts";
import { LEAST_SPEED, MinimumSpeed } from "../../lib/minimum-speed.ts";
import { ChunkReader } from "../../lib/streams.ts";
import { objectKey } from "../../storage/registry/objects.ts";
import {
  endUpload,
  findRegistryUpload,
  insertRegistryUpload,
  type RegistryUploadRow,
  takeUpload,
} from "../../storage/registry/uploads.ts";
import { quotaOf, withinQuota } from "../access/storage-quota.ts";
import type { Services } from "../services.ts";
import { requireImageQuota } from "./blobs.ts";
import type { Repository } from "./repositories.ts";
import { offsetOf, superseded, UploadWriter } from "./upload-writer.ts";

const MIB = 1024 * 1024;

/** The share of an isolate's 128 MB: a part of each upload whose length is not known, and one part more. */
const budget = new ByteBudget({
  shared: 4 * PART_BYTES,
  share: 3 * PART_BYTES,
  waiting: 32,
  patience_ms: 60_000,
});

/** Uploads under way per account. Docker sends five at a time. */
const MAX_UPLOADS = 200;
/** Beyond as many, collaborators begin none: the owner can always push. */
const MAX_SHARED_UPLOADS = 100;

export type Upload = RegistryUploadRow;

export interface Arriving {
  body: ReadableStream<Uint8Array> | null;
  /** The length in bytes. Undefined: only the body's end tells it. */
  length: number | undefined;
  /** The offset where the bytes begin, if the client says so. */
  first: number | undefined;
  /** @throws if the sender may not continue */
  check: () => Promise<void>;
}

/**
 * @param whole bytes that come in this request: they count from now on, and are removed with the upload if
 * the request breaks
 * @throws RegistryError DENIED; ProblemError
 */
export async function beginUpload(
  services: Services,
  { id: model_id, owner_id: user_id, level }: Repository,
  whole: { length: number; key: string | null } = { length: 0, key: null },
): Promise<Upload> {
  await requireImageQuota(services, user_id, whole.length);
  const now = Date.now();
  const row: Upload = {
    id: crypto.randomUUID(),
    model_id,
    user_id,
    key: objectKey(),
    multipart_id: null,
    parts: 0,
    rest: whole.length,
    rest_key: whole.key,
    hash: new ResumableHash().state(),
    holder: "",
    created_at: now,
    updated_at: now,
  };
  // The upload ends if its client leaves: nobody else knows of it, and it would count until the sweep ends
  // it.
  whenClientLeaves(() => endUpload(services.db, row));
  const max = level === null ? MAX_UPLOADS : MAX_SHARED_UPLOADS;
  const inserting = insertRegistryUpload(services.db, row, max, quotaOf(services, user_id));
  if (!(await withinQuota(services, inserting))) {
    throw new RegistryError(
      429,
      "TOOMANYREQUESTS",
      `An account can have ${MAX_UPLOADS} uploads in progress, and its collaborators can start one while it has fewer than ${MAX_SHARED_UPLOADS}. Finish or cancel (DELETE) some. An upload expires a day after its last chunk, or after 10 minutes without one.`,
    );
  }
  return row;
}

/** @throws RegistryError BLOB_UPLOAD_UNKNOWN */
export async function getUpload(
  { db }: Services,
  { id: modelId }: Repository,
  id: string,
): Promise<Upload> {
  const row = await findRegistryUpload(db, modelId, id);
  if (row) return row;
  throw new RegistryError(
    404,
    "BLOB_UPLOAD_UNKNOWN",
    "Upload not found: it has ended or expired. Start a new upload.",
  );
}

/**
 * Appends the bytes of a request to an upload.
 * @returns the upload afterwards
 * @throws RegistryError, ProblemError
 */
export async function appendTo(
  services: Services,
  upload: Upload,
  { body, length, first, check }: Arriving,
): Promise<Upload> {
  const offset = offsetOf(upload);
  if (first !== undefined && first !== offset) throw outOfOrder(upload);
  if (!body || length === 0) return upload;
  if (offset + (length ?? 1) > MAX_BLOB_BYTES) throw tooLarge();
  await requireImageQuota(services, upload.user_id, length ?? 1);
  const holder = crypto.randomUUID();
  if (!(await takeUpload(services.db, upload, holder, Date.now()))) throw superseded();
  const writer = new UploadWriter(services, { ...upload, holder });
  const reader = new ChunkReader(body, brokenOff);
  try {
    if (length !== undefined) await writer.writeSized(reader, length, check);
    else await writeUnsized(services, writer, reader, check);
  } finally {
    await reader.cancel().catch(() => {});
  }
  return writer.row;
}

/**
 * Writes a body of unknown length. Only its end tells which part is the last, so a part is held in memory
 * until it is full, and must fill at a certain speed.
 */
async function writeUnsized(
  services: Services,
  writer: UploadWriter,
  reader: ChunkReader,
  check: () => Promise<void>,
): Promise<void> {
  const { user_id } = writer.row;
  const held = new Held(user_id);
  const speed = new MinimumSpeed(tooSlow);
  try {
    for (;;) {
      const missing = PART_BYTES - writer.row.rest;
      const { chunks, length } = await readPart(reader, missing, held, speed);
      if (length > 0) await speed.excluding(writer.writeChunks(chunks, length === missing));
      budget.release(held);
      if (length < missing) return;
      if (offsetOf(writer.row) >= MAX_BLOB_BYTES) throw tooLarge();
      await check();
      await requireImageQuota(services, user_id, 1);
    }
  } catch (error) {
    throw error instanceof BudgetExceeded ? busy() : error;
  } finally {
    speed.end();
    budget.release(held);
  }
}

/** Reads up to `most` bytes and holds all of them; fewer at the end. */
async function readPart(reader: ChunkReader, most: number, held: Held, speed: MinimumSpeed) {
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length < most) {
    const chunk = await Promise.race([reader.read(Math.min(most - length, MIB)), speed.tooSlow]);
    if (!chunk) break;
    await speed.excluding(budget.take(held, chunk.byteLength));
    speed.received(chunk.byteLength);
    chunks.push(chunk);
    length += chunk.byteLength;
  }
  return { chunks, length };
}

/** @throws RegistryError BLOB_UPLOAD_UNKNOWN */
export async function cancelUpload(
  services: Services,
  repository: Repository,
  id: string,
): Promise<void> {
  await endUpload(services.db, await getUpload(services, repository, id));
}

/** Ends a request whose client left: nobody reads the error, and it is not logged. */
function brokenOff(): never {
  throw new RegistryError(
    400,
    "SIZE_INVALID",
    "The connection closed before the whole chunk arrived.",
  );
}

/**
 * The header Range, with the bytes that have arrived. Docker always requires one, and takes `0-0` for none.
 */
export const rangeOf = (upload: Upload) => ({
  range: `0-${Math.max(0, offsetOf(upload) - 1)}`,
});

const outOfOrder = (upload: Upload) =>
  new RegistryError(
    416,
    "BLOB_UPLOAD_INVALID",
    `Wrong offset: this upload has ${offsetOf(upload)} bytes. Start the next chunk there.`,
    rangeOf(upload),
  );

const tooLarge = () =>
  new RegistryError(
    413,
    "SIZE_INVALID",
    `A layer can have at most ${MAX_BLOB_BYTES / MIB / 1024} GiB. Split it into smaller layers.`,
  );

const tooSlow = () =>
  new RegistryError(
    408,
    "BLOB_UPLOAD_INVALID",
    `The layer arrived too slowly: without a length ${LEAST_SPEED}`,
  );

const busy = () =>
  new RegistryError(
    503,
    "UNAVAILABLE",
    "Too many concurrent uploads without a length. Try again in 30 seconds with fewer uploads.",
    { "retry-after": "30" },
  );
