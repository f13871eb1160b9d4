/** The end of uploads: pending ones that were abandoned, files that nobody uses. */
import { logger } from "../../log.ts";
import { claimExpired, listAccountsWithExpired } from "../../storage/files/uploads.ts";
import type { Services } from "../services.ts";
import { removeUploads } from "./uploads.ts";

/**
 * In a round each of some accounts has the same share, so that none holds up the others, whatever it
 * has left. Each that is pending is a call of R2.
 */
const ACCOUNTS = 50;
const ROUND = 250;

/** Of one sweep, as long as there is more. */
const ROUNDS = 12;
const MAX_MS = 20_000;

/** What R2 refuses, or a death leaves behind, has its turn again after this. */
const AGAIN_MS = 10 * 60_000;

/** Removes what has had its time. */
export async function sweepUploads(services: Services, now: number): Promise<void> {
  const end = Date.now() + MAX_MS;
  for (let round = 0; round < ROUNDS && Date.now() < end; round++) {
    const users = (await listAccountsWithExpired(services.db, now, ACCOUNTS)).map(
      ({ user_id }) => user_id,
    );
    if (users.length === 0) return;
    const each = Math.floor(ROUND / users.length);
    const again = now + AGAIN_MS;
    const taken = await claimExpired(services.db, { users, each, now, again });
    const failures = await removeUploads(services, taken).catch((error: unknown) => [error]);
    if (failures.length === 0) continue;
    logger.error("Expired uploads not removed", { count: failures.length, error: failures[0] });
  }
}
