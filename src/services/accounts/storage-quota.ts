/** The storage quota of an account in the database. */
import { conflict, type ProblemError } from "../../errors.ts";
import { isOverQuota, type StorageQuota } from "../../storage/accounts/account-bytes.ts";
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

function full({ settings }: Services): ProblemError {
  const megabytes = settings.accountBytes / 1_000_000;
  return conflict(
    `Your account has reached its storage quota of ${megabytes} MB. Delete unused versions, models, variables, tokens or uploads, or shorten overviews. The operator can raise ACCOUNT_MB.`,
  );
}
