/**
 * Signed URLs: whoever has one can do exactly what it grants until it expires. The signature is an
 * HMAC-SHA-256 over the grant and its expiry.
 */
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";

/** What a URL allows. The first item is the kind, so that one kind cannot pass for another. */
export type Grant =
  | ["part", uploadId: string, number: number, length: number, holder: string | null]
  | ["file", key: string];

const HMAC = { name: "HMAC", hash: "SHA-256" };

/** @param bytes 32 bytes, random or derived */
export const importSigningKey = (bytes: BufferSource): Promise<CryptoKey> =>
  crypto.subtle.importKey("raw", bytes, HMAC, false, ["sign", "verify"]);

/** @param expires Unix seconds */
export async function signGrant(key: CryptoKey, grant: Grant, expires: number): Promise<string> {
  const signature = await crypto.subtle.sign("HMAC", key, signed(grant, expires));
  return encodeBase64Url(signature).replaceAll("=", "");
}

/** Whether one of the keys signed it, in constant time. */
export async function verifyGrant(
  keys: readonly CryptoKey[],
  grant: Grant,
  expires: number,
  signature: string,
): Promise<boolean> {
  const [bytes, text] = [decodeBase64Url(signature), signed(grant, expires)];
  const verdicts = keys.map((key) => crypto.subtle.verify("HMAC", key, bytes, text));
  return (await Promise.all(verdicts)).includes(true);
}

const signed = (grant: Grant, expires: number) =>
  new TextEncoder().encode(JSON.stringify([...grant, expires]));
