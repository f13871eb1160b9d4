/** Signed URLs: an HMAC-SHA-256 over a grant and its expiry. Anybody who has one can use it. */
import { equal, HMAC } from "@stablelib/hmac";
import { SHA256 } from "@stablelib/sha256";
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";

/** The action that a URL allows. The first item is the kind, so that one kind cannot pass for another. */
export type Grant =
  | ["part", uploadId: string, number: number, length: number, holder: string | null]
  | ["file", key: string]
  /** Shows a picture of another host. */
  | ["picture", url: string]
  /** Reads the event stream of a prediction, as the token could that asked for the URL. */
  | ["stream", predictionId: string, tokenId: string];

/** A secret that is derived with the same keys, of an account's webhooks (storage/files/signed-file-urls.ts). */
type Secret = ["webhooks", userId: string];

/** The claims of a token without a row (domain/accounts/signed-token.ts). */
type Claims = ["token", kind: string, claims: string];

/** The key of signatures. It takes 5 µs for each, and Web Crypto 40 µs: an upload has up to 10,000 URLs. */
export type SigningKey = HMAC;

/** @param bytes 32 bytes, random or derived */
export const signingKey = (bytes: Uint8Array): SigningKey => new HMAC(SHA256, bytes);

/** @param expires Unix seconds */
export const signGrant = (
  key: SigningKey,
  grant: Grant | Secret | Claims,
  expires: number,
): string => encodeBase64Url(digest(key, grant, expires).slice().buffer).replaceAll("=", "");

/** Whether one of the keys signed the grant, checked in constant time. */
export function verifyGrant(
  keys: readonly SigningKey[],
  grant: Grant | Claims,
  expires: number,
  signature: string,
): boolean {
  const bytes = decodeBase64Url(signature);
  return keys.some((key) => equal(digest(key, grant, expires), bytes));
}

const digest = (key: SigningKey, grant: Grant | Secret | Claims, expires: number): Uint8Array =>
  key
    .reset()
    .update(new TextEncoder().encode(JSON.stringify([...grant, expires])))
    .digest();
