/** The room that an account has in the database. */
import { conflict, type ProblemError } from "../../errors.ts";
import {
  findAccountBytes,
  isOverQuota,
  type StorageQuota,
} from "../../storage/accounts/account-bytes.ts";
import type { Services } from "../services.ts";

export const quotaOf = (
  { settings }: Services,
  userId: string,
  max = settings.accountBytes,
): StorageQuota => ({ user_id: userId, max_bytes: max });

/** @throws ProblemError conflict when what is written has no room */
export async function withinQuota<Row>(services: Services, writing: Promise<Row>): Promise<Row> {
  try {
    return await writing;
  } catch (error) {
    throw isOverQuota(error) ? full(services) : error;
  }
}

/**
 * For creates: without asking D1 where it is known, so that an account may take some more than it
 * may, as much as it makes in 10 s.
 * @throws ProblemError conflict
 */
export async function requireQuota(services: Services, userId: string): Promise<void> {
  const taken = await findAccountBytes.get(services.db, userId);
  if (taken && taken.bytes >= services.settings.accountBytes) throw full(services);
}

function full({ settings }: Services): ProblemError {
  const megabytes = settings.accountBytes / 1_000_000;
  const days = settings.historySeconds / 86_400;
  return conflict(
    `An account may take ${megabytes} MB of the database, and yours has no room for this. Delete versions, models, variables, tokens or uploads that nobody needs, or shorten overviews; what is listed of predictions goes ${days} days after they were created. Or ask the operator to raise ACCOUNT_MB.`,
  );
}
