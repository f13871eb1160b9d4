/**
 * Secrets of webhooks at rest: sealed where the deployment has a SECRET_KEY. Without one they are
 * kept as they are, and what was kept so is read for ever.
 */
import { decrypt, type EncryptionKeys, encrypt } from "../encryption.ts";

interface StoredSecret {
  secret: string;
  encrypted?: boolean | undefined;
}

/** One of an endpoint's. */
interface Named extends StoredSecret {
  id: string;
}

/** @param place names whose it is */
export async function storedSecret(
  secrets: readonly string[],
  place: string,
  secret: string,
): Promise<StoredSecret> {
  if (secrets.length === 0) return { secret };
  return { secret: await encrypt(sealing(secrets, place), secret), encrypted: true };
}

/** @throws Unopened */
export const readSecret = async (
  secrets: readonly string[],
  place: string,
  { secret, encrypted }: StoredSecret,
): Promise<string> => (encrypted ? decrypt(sealing(secrets, place), secret) : secret);

/** One of an endpoint as it is kept. One that is sealed already stays as it is. */
export const storedForEndpoint = async <Secret extends Named>(
  secrets: readonly string[],
  endpointId: string,
  one: Secret,
): Promise<Secret> =>
  one.encrypted
    ? one
    : { ...one, ...(await storedSecret(secrets, placeOf(endpointId, one.id), one.secret)) };

/** The same secret, sealed with the newest key. @throws Unopened */
export const reencryptedForEndpoint = async <Secret extends Named>(
  secrets: readonly string[],
  endpointId: string,
  one: Secret,
): Promise<Secret> => {
  const secret = await readSecret(secrets, placeOf(endpointId, one.id), one);
  return storedForEndpoint(secrets, endpointId, { ...one, secret, encrypted: false });
};

/** What an endpoint signs with. @throws Unopened */
export const signingSecrets = (
  secrets: readonly string[],
  endpoint: { id: string; secrets: Named[] },
): Promise<string[]> =>
  Promise.all(
    endpoint.secrets.map((one) => readSecret(secrets, placeOf(endpoint.id, one.id), one)),
  );

const placeOf = (endpointId: string, secretId: string) => `${endpointId}:${secretId}`;

const sealing = (secrets: readonly string[], place: string): EncryptionKeys => ({
  secrets,
  purpose: "webhooks",
  place,
});
