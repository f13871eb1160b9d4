/** Signatures of webhooks, with which a receiver verifies that a delivery is authentic and unchanged. */
import { decodeBase64, encodeBase64 } from "hono/utils/encode";
import { hex } from "../../lib/hex.ts";
import { WEBHOOK_HEADERS } from "../../protocol/webhook-payload.ts";
import { decrypt, type EncryptionKeys, encrypt } from "../encryption.ts";

interface SignedDelivery {
  id: string;
  /** When this try was made, Unix ms; sent and signed in whole seconds. */
  at: number;
  body: string;
}

const PREFIX = "whsec_";
const HMAC = { name: "HMAC", hash: "SHA-256" };
const encoder = new TextEncoder();

/** Returns a new secret: `whsec_` and 256 random bits in base64, as in Standard Webhooks. */
export const newWebhookSecret = () =>
  PREFIX + encodeBase64(crypto.getRandomValues(new Uint8Array(32)).buffer);

/** Returns the headers of a delivery, with a signature of both formats for each secret, for rotation. */
export async function signedHeaders(
  { id, at, body }: SignedDelivery,
  secrets: string[],
): Promise<Record<string, string>> {
  const seconds = Math.floor(at / 1_000);
  const headers = { [WEBHOOK_HEADERS.id]: id, [WEBHOOK_HEADERS.timestamp]: `${seconds}` };
  if (secrets.length === 0) return headers;

  const standard = encoder.encode(`${id}.${seconds}.${body}`);
  const plain = encoder.encode(`${seconds}.${body}`);
  const [standards, plains] = await Promise.all([
    Promise.all(secrets.map((secret) => hmac(standardKey(secret), standard))),
    Promise.all(secrets.map((secret) => hmac(encoder.encode(secret), plain))),
  ]);
  return {
    ...headers,
    [WEBHOOK_HEADERS.signature]: standards.map((mac) => `v1,${encodeBase64(mac)}`).join(" "),
    [WEBHOOK_HEADERS.plainSignature]: [
      `t=${seconds}`,
      ...plains.map((mac) => `v1=${hex(mac)}`),
    ].join(","),
  };
}

/**
 * Returns the key of a secret. Secrets of Standard Webhooks are in base64; any other text is used verbatim.
 */
const standardKey = (secret: string) =>
  secret.startsWith(PREFIX) ? decodeBase64(secret.slice(PREFIX.length)) : encoder.encode(secret);

async function hmac(secret: Uint8Array, text: Uint8Array): Promise<ArrayBuffer> {
  const key = await crypto.subtle.importKey("raw", secret, HMAC, false, ["sign"]);
  return crypto.subtle.sign("HMAC", key, text);
}

/**
 * Webhook secrets at rest: encrypted if the deployment has a SECRET_KEY, otherwise plain. Plain ones
 * stay readable after a key is set.
 */

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
