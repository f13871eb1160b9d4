/** Lower-case hexadecimal text, keys derived from the deployment's SECRET_KEY, and the time in a UUIDv7. */

export const hex = (bytes: ArrayBuffer | Uint8Array<ArrayBuffer>) =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

export const bytesOfHex = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

const BITS = 256;

/** HKDF-SHA-256, with the purpose as its context. @returns 32 bytes */
export async function derivedKey(secret: string, purpose: string): Promise<ArrayBuffer> {
  const raw = await crypto.subtle.importKey("raw", bytesOf(secret), "HKDF", false, ["deriveBits"]);
  const info = bytesOf(`auspex ${purpose} v1`);
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  return crypto.subtle.deriveBits(hkdf, raw, BITS);
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** A prefix that sorts before every UUIDv7 created from that time (unix ms) on, and after all earlier ones. */
export function firstIdAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

/** The time of a UUIDv7, unix ms. */
export const timeOfId = (id: string): number =>
  Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
