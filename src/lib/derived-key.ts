/** Keys derived from the deployment's SECRET_KEY, one for each purpose. */

const BITS = 256;

/** HKDF-SHA-256, with the purpose as its context. @returns 32 bytes */
export async function derivedKey(secret: string, purpose: string): Promise<ArrayBuffer> {
  const raw = await crypto.subtle.importKey("raw", bytesOf(secret), "HKDF", false, ["deriveBits"]);
  const info = bytesOf(`auspex ${purpose} v1`);
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  return crypto.subtle.deriveBits(hkdf, raw, BITS);
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
