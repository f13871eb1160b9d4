/**
 * With `SECRET_KEY=new,old`: what lies sealed with an older key is sealed anew with the first one,
 * some at a time, so that the older one can be taken out of the list.
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

/** Of each kind, in one sweep. */
const AT_A_TIME = 50;

/** What cannot be opened stays as it is, for whoever sets it anew. */
export async function reEncrypt({ db, settings: { secretKeys } }: Services): Promise<void> {
  const older = secretKeys.slice(1);
  // While there is one key only, nothing is looked for: these two look at all rows.
  if (older.length === 0) return;
  const [variables, endpoints] = await Promise.all([
    findVariablesEncryptedWith(db, await marks("variables", older), AT_A_TIME),
    findEndpointsEncryptedWith(db, await marks("webhooks", older), AT_A_TIME),
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

const marks = (purpose: "variables" | "webhooks", secrets: string[]) =>
  Promise.all(secrets.map((secret) => keyPrefix(purpose, secret)));
