/** Rights of the holder of a lease at its prediction besides sending frames. */
import { timingSafeEqual } from "../../domain/accounts/token.ts";
import { type Attempt, MAX_STORED_OBJECTS } from "../../domain/predictions/attempts.ts";
import { type LeaseHolder, leaseProof, parseLease } from "../../domain/predictions/lease.ts";
import type { Bindings } from "../../env.ts";
import { database } from "../../storage/database.ts";
import { abortMultipart } from "../../storage/files/files.ts";
import { deleteUploads, type listPendingUploadsOf } from "../../storage/files/uploads.ts";
import type { Piece } from "../stubs/content.ts";
import type { WriteGrant } from "../stubs/prediction.ts";
import type { PredictionRecord } from "./record.ts";

/** The attempt that a lease names, if the lease is valid: open, or dismissed. */
export async function attemptOf(
  { life }: PredictionRecord,
  holder: LeaseHolder,
): Promise<Attempt | undefined> {
  const lease = parseLease(holder.lease);
  const attempt = life.attempts.expected.find(({ number }) => number === lease?.attempt);
  if (!lease || !attempt) return undefined;
  const proof = await leaseProof(attempt.secret, holder.token_id, lease.runnerId);
  // The attempt may have been closed while the proof was computed.
  const isValid = timingSafeEqual(lease.proof, proof) && life.attempts.expected.includes(attempt);
  if (!isValid) return undefined;
  if (!life.spec.remote) life.attempts.setRunner(attempt.number, lease.runnerId);
  return attempt;
}

/** Returns the attempt that a lease names if the lease is valid and the attempt's frames are accepted. */
async function openAttemptOf(record: PredictionRecord | undefined, holder: LeaseHolder) {
  const attempt = record && (await attemptOf(record, holder));
  return attempt && record.life.acceptsFrom(attempt.number) ? { record, attempt } : undefined;
}

export async function leasedInput(
  prediction: PredictionRecord | undefined,
  holder: LeaseHolder,
): Promise<{ id: string; input: Piece } | undefined> {
  const { record } = (await openAttemptOf(prediction, holder)) ?? {};
  return record && { id: record.life.spec.id, input: record.input() };
}

export async function mayReadFile(
  prediction: PredictionRecord | undefined,
  holder: LeaseHolder,
  key: string,
): Promise<boolean> {
  const { record } = (await openAttemptOf(prediction, holder)) ?? {};
  return record?.life.spec.files.some(({ stored }) => stored?.key === key) ?? false;
}

/**
 * Counts one more object that the attempt writes to R2.
 * @returns undefined when the attempt has ended
 */
export async function beginWrite(
  prediction: PredictionRecord | undefined,
  holder: LeaseHolder,
): Promise<WriteGrant | "full" | undefined> {
  const { record, attempt } = (await openAttemptOf(prediction, holder)) ?? {};
  if (!record || !attempt) return undefined;
  if (attempt.stored >= MAX_STORED_OBJECTS) return "full";
  if (record.life.countStored(attempt.number)) {
    record.save();
    // An object that is not kept would not know what to delete in R2.
    record.keep();
  }
  return writeGrantOf(record);
}

/** @returns undefined when the attempt has ended */
export async function continueWrite(
  prediction: PredictionRecord | undefined,
  holder: LeaseHolder,
): Promise<WriteGrant | undefined> {
  const { record } = (await openAttemptOf(prediction, holder)) ?? {};
  return record && writeGrantOf(record);
}

function writeGrantOf({ life }: PredictionRecord): WriteGrant {
  const { id, user_id, account_object, url, limits, timeout_seconds, retention_seconds } =
    life.spec;
  const keep_seconds = timeout_seconds + retention_seconds;
  return { id, user_id, account_object, url, output_bytes: limits.output_bytes, keep_seconds };
}

/** Uploads in parts that runners have begun for the outputs of a prediction. */

/** Uploads that are ended at a time: each is a call to R2. */
const UPLOADS = 100;

/**
 * Ends uploads that runners have begun for a prediction, and deletes their rows. The sweep would find them a
 * day later.
 * @param list finds some of them
 */
export async function endUploads(
  env: Bindings,
  predictionId: string,
  list: typeof listPendingUploadsOf,
): Promise<void> {
  const db = database(env.DB);
  for (;;) {
    const rows = await list(db, predictionId, UPLOADS);
    if (rows.length === 0) return;
    const pending = rows.filter(({ completed_at }) => completed_at === null);
    await Promise.all(pending.map((row) => abortMultipart(env.FILES, row)));
    await deleteUploads(
      db,
      rows.map(({ id }) => id),
    );
  }
}
