/** The bytes of an account's images. */
import { sql } from "drizzle-orm";
import type { Database } from "../database.ts";

export interface ImageBytes {
  /** The bytes of blobs and manifests, each counted once, by triggers. */
  stored: number;
  /** The bytes of uploads under way. */
  arriving: number;
  /** The bytes in the database of everything that the account has (accounts/account-bytes.ts). */
  database: number;
}

export async function findImageBytes(
  db: Database,
  userId: string,
  partBytes: number,
): Promise<ImageBytes> {
  const [row] = await db.all<ImageBytes>(sql`SELECT
    coalesce((SELECT bytes FROM registry_bytes WHERE user_id = ${userId}), 0) AS stored,
    coalesce((SELECT sum(parts * ${partBytes} + rest) FROM registry_uploads
      WHERE user_id = ${userId}), 0) AS arriving,
    coalesce((SELECT bytes FROM account_bytes WHERE user_id = ${userId}), 0) AS database`);
  return row ?? { stored: 0, arriving: 0, database: 0 };
}
