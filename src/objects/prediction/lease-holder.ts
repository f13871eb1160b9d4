/** What the holder of a lease may do at its prediction, beside speaking for the attempt. */

import { sameText } from "../../domain/accounts/token.ts";
import type { Attempt } from "../../domain/predictions/attempts.ts";
import { type LeaseHolder, leaseProof, parseLease } from "../../domain/predictions/lease.ts";
import { MAX_STORED_OBJECTS } from "../../domain/predictions/life.ts";
import type { Piece } from "./log.ts";
import type { PredictionRecord } from "./record.ts";
import type { StoringPrediction } from "./rpc-types.ts";

/** The attempt that a lease names, when it is its holder's: also one that has ended. */
export async function attemptOf(
  { life }: PredictionRecord,
  holder: LeaseHolder,
): Promise<Attempt | undefined> {
  const lease = parseLease(holder.lease);
  const attempt = life.expectedAttempts.find(({ number }) => number === lease?.attempt);
  if (!lease || !attempt) return undefined;
  const proof = await leaseProof(attempt.secret, holder.token_id, lease.runnerId);
  // Another may have been opened meanwhile.
  if (!sameText(lease.proof, proof) || !life.expectedAttempts.includes(attempt)) return undefined;
  life.setRunner(attempt.number, lease.runnerId);
  return attempt;
}

/** The same, while it is under way. */
async function leased(record: PredictionRecord | undefined, holder: LeaseHolder) {
  const attempt = record && (await attemptOf(record, holder));
  return attempt && record.life.acceptsFrom(attempt.number) ? { record, attempt } : undefined;
}

export async function leasedInput(
  prediction: PredictionRecord | undefined,
  holder: LeaseHolder,
): Promise<{ id: string; input: Piece } | undefined> {
  const { record } = (await leased(prediction, holder)) ?? {};
  return record && { id: record.life.spec.id, input: record.input() };
}

/** Whether its input names this file. */
export async function mayRead(
  prediction: PredictionRecord | undefined,
  holder: LeaseHolder,
  key: string,
): Promise<boolean> {
  const { record } = (await leased(prediction, holder)) ?? {};
  return record?.life.spec.files.some(({ stored }) => stored?.key === key) ?? false;
}

/** Counts one thing more that it writes to R2. @returns undefined when the attempt has ended */
export async function store(
  prediction: PredictionRecord | undefined,
  holder: LeaseHolder,
): Promise<StoringPrediction | "full" | undefined> {
  const { record, attempt } = (await leased(prediction, holder)) ?? {};
  if (!record || !attempt) return undefined;
  if (attempt.stored >= MAX_STORED_OBJECTS) return "full";
  if (record.life.countStored(attempt.number)) record.save();
  return storingOf(record);
}

export async function storing(
  prediction: PredictionRecord | undefined,
  holder: LeaseHolder,
): Promise<StoringPrediction | undefined> {
  const { record } = (await leased(prediction, holder)) ?? {};
  return record && storingOf(record);
}

function storingOf({ life }: PredictionRecord): StoringPrediction {
  const { id, user_id, url, limits, timeout_seconds, retention_seconds } = life.spec;
  const keep_seconds = timeout_seconds + retention_seconds;
  return { id, user_id, url, output_bytes: limits.output_bytes, keep_seconds };
}
