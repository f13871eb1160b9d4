/** Removes expired uploads: abandoned pending ones, and files that no prediction and no version uses. */
import { logger } from "../../log.ts";
import { claimExpired, keepNamed, listAccountsWithExpired } from "../../storage/files/uploads.ts";
import type { Services } from "../services.ts";
import { removeUploads } from "./uploads.ts";

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
