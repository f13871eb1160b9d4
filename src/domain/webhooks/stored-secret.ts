/** Webhook secrets at rest: encrypted if the deployment has a SECRET_KEY, otherwise plain. */
import { decrypt, type EncryptionKeys, encrypt } from "../encryption.ts";

interface StoredSecret {
  secret: string;
  encrypted?: boolean | undefined;
}

interface EndpointSecret extends StoredSecret {
  id: string;
}

/** @param context the owner of the secret, which can be decrypted only with the same context */
export async function storedSecret(
  secrets: readonly string[],
  context: string,
  secret: string,
): Promise<StoredSecret> {
  if (secrets.length === 0) return { secret };
  return { secret: await encrypt(keysOf(secrets, context), secret), encrypted: true };
}

/** @throws DecryptionFailed */
export const readSecret = async (
  secrets: readonly string[],
  context: string,
  { secret, encrypted }: StoredSecret,
): Promise<string> => (encrypted ? decrypt(keysOf(secrets, context), secret) : secret);

/** Returns a secret of an endpoint as it is stored. One that is encrypted already is returned unchanged. */
export const storedForEndpoint = async <Secret extends EndpointSecret>(
  secrets: readonly string[],
  endpointId: string,
  one: Secret,
): Promise<Secret> =>
  one.encrypted
    ? one
    : {
        ...one,
        ...(await storedSecret(secrets, encryptionContext(endpointId, one.id), one.secret)),
      };

/** Returns the same secret, encrypted with the newest key. @throws DecryptionFailed */
export const reencryptedForEndpoint = async <Secret extends EndpointSecret>(
  secrets: readonly string[],
  endpointId: string,
  one: Secret,
): Promise<Secret> => {
  const secret = await readSecret(secrets, encryptionContext(endpointId, one.id), one);
  return storedForEndpoint(secrets, endpointId, { ...one, secret, encrypted: false });
};

/** Returns the plain secrets that an endpoint signs with. @throws DecryptionFailed */
export const signingSecrets = (
  secrets: readonly string[],
  endpoint: { id: string; secrets: EndpointSecret[] },
): Promise<string[]> =>
  Promise.all(
    endpoint.secrets.map((one) => readSecret(secrets, encryptionContext(endpoint.id, one.id), one)),
  );

const encryptionContext = (endpointId: string, secretId: string) => `${endpointId}:${secretId}`;

const keysOf = (secrets: readonly string[], context: string): EncryptionKeys => ({
  secrets,
  purpose: "webhooks",
  context,
});
