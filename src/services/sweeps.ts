/** The tasks that the sweep runs every minute. */

import { keyPrefix } from "../domain/encryption.ts";
import { decryptVariables, encryptVariable } from "../domain/models/variables.ts";
import { reencryptedForEndpoint } from "../domain/webhooks/stored-secret.ts";
import { logger } from "../log.ts";
import {
  findEndpointsEncryptedWith,
  findVariablesEncryptedWith,
  replaceEncrypted,
} from "../storage/encrypted.ts";
import { replaceSecrets } from "../storage/webhooks/endpoints.ts";
import { sweepDatabaseSpace } from "./access/storage-quota.ts";
import { sweepAccounts } from "./accounts/delete-account.ts";
import { sweepUsage } from "./accounts/deployment-usage.ts";
import { sweepSuspended } from "./accounts/suspension.ts";
import { sweepAlerts } from "./alerts/sweep-alerts.ts";
import { sweepAudit } from "./audit/trail.ts";
import { sweepBackups } from "./backups/make-backup.ts";
import { sweepDeployments } from "./deployments/claims.ts";
import { sweepUploads } from "./files/uploads.ts";
import { sweepExamples } from "./models/examples.ts";
import { sweepListings } from "./models/models.ts";
import { sweepRegistry } from "./registry/sweep-registry.ts";
import { sweepPools } from "./runners/pools.ts";
import { sweepRevokedRunners } from "./runners/revocation.ts";
import type { Services } from "./services.ts";
import { sweepShares } from "./shares/shares.ts";
import { sweepSessions } from "./sign-in/sign-up-attempts.ts";
import { reEncryptTwoFactors } from "./sign-in/two-factor.ts";

/** The secrets of each kind that a sweep re-encrypts. */
const BATCH = 50;

export const SWEEPS = {
  listings: sweepListings,
  uploads: sweepUploads,
  examples: sweepExamples,
  registry: sweepRegistry,
  accounts: sweepAccounts,
  sessions: sweepSessions,
  shares: sweepShares,
  usage: sweepUsage,
  suspended: sweepSuspended,
  revoked_runners: sweepRevokedRunners,
  pools: sweepPools,
  encryption: reEncrypt,
  audit: sweepAudit,
  backups: sweepBackups,
  database_space: sweepDatabaseSpace,
  alerts: sweepAlerts,
  deployments: (services, now) => sweepDeployments(services, now),
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

/**
 * Re-encrypts a batch of secrets with the first key of `SECRET_KEY=new,old`, so that the older keys can be
 * removed from the list. Secrets that cannot be decrypted stay unchanged until their owner replaces them. */
export async function reEncrypt(services: Services): Promise<void> {
  const { db, settings } = services;
  const { secretKeys } = settings;
  const older = secretKeys.slice(1);
  // Each of the queries scans every row, so they run only during a rotation.
  if (older.length === 0) return;
  await reEncryptTwoFactors(services, BATCH);
  const [variables, endpoints] = await Promise.all([
    findVariablesEncryptedWith(db, await prefixes("variables", older), BATCH),
    findEndpointsEncryptedWith(db, await prefixes("webhooks", older), BATCH),
  ]);
  const results = await Promise.allSettled([
    ...variables.map(async (row) => {
      const { model_id, name, sealed } = row;
      const { [name]: value = "" } = await decryptVariables(secretKeys, model_id, {
        [name]: sealed,
      });
      await replaceEncrypted(db, row, await encryptVariable(secretKeys, model_id, name, value));
    }),
    ...endpoints.map(async (row) => {
      const sealing = row.secrets.map((one) => reencryptedForEndpoint(secretKeys, row.id, one));
      await replaceSecrets(db, row, await Promise.all(sealing));
    }),
  ]);
  for (const result of results)
    if (result.status === "rejected")
      logger.error("Re-encryption failed", { error: result.reason });
}

const prefixes = (purpose: "variables" | "webhooks", secrets: string[]) =>
  Promise.all(secrets.map((secret) => keyPrefix(purpose, secret)));
