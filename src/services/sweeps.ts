/** The tasks that the sweep runs every minute. */
import { logger } from "../log.ts";
import { sweepAccounts } from "./accounts/delete-account.ts";
import { sweepDatabaseSpace } from "./accounts/storage-quota.ts";
import { sweepSuspended } from "./accounts/suspension.ts";
import { sweepBackups } from "./backups/make-backup.ts";
import { sweepUploads } from "./files/sweep-uploads.ts";
import { sweepExamples } from "./models/examples.ts";
import { sweepListings } from "./models/prediction-counts.ts";
import { reEncrypt } from "./re-encrypt.ts";
import { sweepRegistry } from "./registry/sweep-registry.ts";
import { sweepPools } from "./runners/pools.ts";
import { sweepRevokedRunners } from "./runners/revocation.ts";
import type { Services } from "./services.ts";
import { sweepShares } from "./shares/shares.ts";
import { sweepSessions } from "./sign-in/sweep.ts";

export const SWEEPS = {
  listings: sweepListings,
  uploads: sweepUploads,
  examples: sweepExamples,
  registry: sweepRegistry,
  accounts: sweepAccounts,
  sessions: sweepSessions,
  shares: sweepShares,
  suspended: sweepSuspended,
  revoked_runners: sweepRevokedRunners,
  pools: sweepPools,
  encryption: reEncrypt,
  backups: sweepBackups,
  database_space: sweepDatabaseSpace,
} satisfies Record<string, (services: Services, now: number) => Promise<unknown>>;

/**
 * Waits for all tasks, even if one fails: Cloudflare cuts off tasks that are still running when a scheduled
 * invocation has ended.
 * @throws Error if any has failed, so that the invocation is shown as failed. The next sweep repeats what
 * failed
 */
export async function sweepAll(services: Services, now: number): Promise<void> {
  const failed: string[] = [];
  const sweeps = Object.entries(SWEEPS).map(async ([sweep, run]) => {
    try {
      await run(services, now);
    } catch (error) {
      failed.push(sweep);
      logger.error("Sweep failed", { sweep, error });
    }
  });
  await Promise.all(sweeps);
  if (failed.length > 0) throw new Error(`sweeps failed: ${failed.join(", ")}`);
}
