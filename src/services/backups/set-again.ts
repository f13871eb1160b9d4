/**
 * The values of a restored backup that no SECRET_KEY of this deployment can decrypt, and that have to be set
 * again.
 */
import { keyPrefix } from "../../domain/encryption.ts";
import type { SetAgain } from "../../protocol/backup.ts";
import {
  findEndpointsNotEncryptedWith,
  findVariablesNotEncryptedWith,
} from "../../storage/encrypted.ts";
import type { Services } from "../services.ts";

const MAX = 1_000;

export async function findSetAgain({ db, settings: { secretKeys } }: Services): Promise<SetAgain> {
  const marks = (purpose: "variables" | "webhooks") =>
    Promise.all(secretKeys.map((secret) => keyPrefix(purpose, secret)));
  const [variables, webhook_endpoints] = await Promise.all([
    findVariablesNotEncryptedWith(db, await marks("variables"), MAX),
    findEndpointsNotEncryptedWith(db, await marks("webhooks"), MAX),
  ]);
  return {
    variables: variables.map(({ owner, model, name }) => ({ model: `${owner}/${model}`, name })),
    webhook_endpoints,
  };
}
