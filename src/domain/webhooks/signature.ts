/** Signatures of webhooks, with which a receiver verifies that a delivery is authentic and unchanged. */
import { decodeBase64, encodeBase64 } from "hono/utils/encode";
import { hex } from "../../lib/hex.ts";
import { WEBHOOK_HEADERS } from "../../protocol/webhook-payload.ts";

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

/** Returns the key of a secret: base64 for those of Standard Webhooks, any other text verbatim. */
const standardKey = (secret: string) =>
  secret.startsWith(PREFIX) ? decodeBase64(secret.slice(PREFIX.length)) : encoder.encode(secret);

async function hmac(secret: Uint8Array, text: Uint8Array): Promise<ArrayBuffer> {
  const key = await crypto.subtle.importKey("raw", secret, HMAC, false, ["sign"]);
  return crypto.subtle.sign("HMAC", key, text);
}
