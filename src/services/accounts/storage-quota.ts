/** The storage quota of an account in the database. */
import { conflict, type ProblemError } from "../../errors.ts";
import {
  accountBytesCache,
  isOverQuota,
  type StorageQuota,
} from "../../storage/accounts/account-bytes.ts";
import type { Services } from "../services.ts";

export const quotaOf = (
  { settings }: Services,
  userId: string,
  max = settings.accountBytes,
): StorageQuota => ({ user_id: userId, max_bytes: max });

/** @throws ProblemError conflict when a write exceeds the quota */
export async function withinQuota<Row>(services: Services, writing: Promise<Row>): Promise<Row> {
  try {
    return await writing;
  } catch (error) {
    throw isOverQuota(error) ? full(services) : error;
  }
}

/**
 * For creating predictions: uses a value cached for 10 s instead of asking D1. An account can exceed
 * its quota by what it creates in that time.
 * @throws ProblemError conflict
 */
export async function requireQuota(services: Services, userId: string): Promise<void> {
  const taken = await accountBytesCache.get(services.db, userId);
  if (taken && taken.bytes >= services.settings.accountBytes) throw full(services);
}

function full({ settings }: Services): ProblemError {
  const megabytes = settings.accountBytes / 1_000_000;
  const days = settings.historySeconds / 86_400;
  return conflict(
    `Your account has reached its storage quota of ${megabytes} MB. Delete unused versions, models, variables, tokens or uploads, or shorten overviews. Predictions stop counting ${days} days after they were created. The operator can raise ACCOUNT_MB.`,
  );
}
