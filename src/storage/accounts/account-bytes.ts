/** Database bytes per account, counted by triggers (migrations/0000_baseline.sql). */
import { eq, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { type Database, failedOn } from "../database.ts";
import { accountBytes } from "../schema/index.ts";

export interface StorageQuota {
  user_id: string;
  max_bytes: number;
  max_total_bytes: number;
}

/** The key of the row whose sum of all accounts is kept by triggers. */
const EVERYBODY = "";

/**
 * Writes for an account, in one transaction. Fails (`isOverQuota`, `isDatabaseFull`) if the account would
 * exceed a limit and grow: a write that frees space always succeeds.
 * @returns the result of the first statement
 */
export async function writeWithinQuota<First extends BatchItem<"sqlite">>(
  db: Database,
  { user_id, max_bytes, max_total_bytes }: StorageQuota,
  first: First,
  ...rest: BatchItem<"sqlite">[]
): Promise<First["_"]["result"]> {
  const before = db
    .update(accountBytes)
    .set({ bytes_before: sql`${accountBytes.bytes}` })
    .where(eq(accountBytes.user_id, user_id));
  // An account over the limit inserts NULL, which the column refuses.
  const check = db.insert(accountBytes).select(sql`SELECT user_id, NULL, 0 FROM account_bytes
    WHERE user_id = ${user_id} AND bytes > max(bytes_before, ${max_bytes})`);
  const checkTotal = db
    .insert(accountBytes)
    .select(sql`SELECT user_id, bytes, NULL FROM account_bytes
    WHERE user_id = ${user_id} AND bytes > bytes_before
      AND (SELECT bytes FROM account_bytes WHERE user_id = ${EVERYBODY}) > ${max_total_bytes}`);
  const [, answer] = await db.batch([before, first, ...rest, check, checkTotal]);
  return answer;
}

export const isOverQuota = (error: unknown): boolean =>
  failedOn(error, "NOT NULL", "account_bytes.bytes");

export const isDatabaseFull = (error: unknown): boolean =>
  failedOn(error, "NOT NULL", "account_bytes.bytes_before");

export const findTotalBytes = async (db: Database): Promise<number> => {
  const row = await db
    .select({ bytes: accountBytes.bytes })
    .from(accountBytes)
    .where(eq(accountBytes.user_id, EVERYBODY))
    .get();
  return row?.bytes ?? 0;
};
