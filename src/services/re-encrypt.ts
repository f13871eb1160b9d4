/**
 * Key rotation with `SECRET_KEY=new,old`: re-encrypts secrets of older keys with the first one, in
 * batches, so that the older keys can be removed from the list.
 */
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
import type { Services } from "./services.ts";

/** The secrets of each kind that a sweep re-encrypts. */
const BATCH = 50;

/** Re-encrypts a batch. Secrets that cannot be decrypted stay unchanged until their owner replaces them. */
export async function reEncrypt({ db, settings: { secretKeys } }: Services): Promise<void> {
  const older = secretKeys.slice(1);
  // Each of the two queries scans every row, so they run only during a rotation.
  if (older.length === 0) return;
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
