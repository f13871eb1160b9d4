/**
 * Signed addresses: whoever has one may do what it says until it expires, and nothing else. The
 * signature is an HMAC-SHA-256 over what the address is for, all that it names, and its expiry.
 */
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";

/** What an address allows; the first item says which kind it is, so that none passes for another. */
export type Grant =
  | ["part", uploadId: string, number: number, length: number, holder: string | null]
  | ["file", key: string];

const HMAC = { name: "HMAC", hash: "SHA-256" };

/** @param bytes 32, random or derived. */
export const importSigningKey = (bytes: BufferSource): Promise<CryptoKey> =>
  crypto.subtle.importKey("raw", bytes, HMAC, false, ["sign", "verify"]);

/** @param expires unix seconds. */
export async function signGrant(key: CryptoKey, grant: Grant, expires: number): Promise<string> {
  const signature = await crypto.subtle.sign("HMAC", key, signed(grant, expires));
  return encodeBase64Url(signature).replaceAll("=", "");
}

/**
 * Whether it was signed with one of the keys; takes as long for a wrong one as for a right one.
 */
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
