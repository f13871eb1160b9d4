/** Tokens: their format, and how they are stored and compared. */
import { hex } from "../../lib/hex.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_CHARS = 43; // 62^43 > 2^256
const CHECK_CHARS = 6; // 62^6 > 2^32

export type TokenKind = "aus" | "ausd" | "ausr" | "ausi" | "auss";

/** A new token of its kind, such as `aus_`: 256 random bits in base62, and their CRC-32. */
export function newToken(kind: TokenKind): string {
  const random = base62(crypto.getRandomValues(new Uint8Array(32)), RANDOM_CHARS);
  return `${kind}_${random}${checksum(random)}`;
}

/** Whether the format and checksum are valid: rejects typing errors without a look-up. */
export function isToken(text: string, kind: TokenKind): boolean {
  const [, random = "", check] =
    new RegExp(`^${kind}_(\\w{${RANDOM_CHARS}})(\\w{${CHECK_CHARS}})$`).exec(text) ?? [];
  return check !== undefined && check === checksum(random);
}

/** Returns the visible part, which tells tokens apart. */
export const tokenPrefix = (token: string) => token.slice(0, token.indexOf("_") + 7);

/** Returns the stored hash of a token: 256 random bits need no slow hash. */
export async function sha256(text: string): Promise<string> {
  return hex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

export function timingSafeEqual(a: string, b: string): boolean {
  const encoder = new TextEncoder();
  const [left, right] = [encoder.encode(a), encoder.encode(b)];
  return left.length === right.length && crypto.subtle.timingSafeEqual(left, right);
}

function base62(bytes: Uint8Array, length: number): string {
  let value = bytes.reduce((all, byte) => (all << 8n) | BigInt(byte), 0n);
  let text = "";
  for (; text.length < length; value /= 62n) text = ALPHABET[Number(value % 62n)] + text;
  return text;
}

function checksum(text: string): string {
  let crc = 0xffffffff;
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  const value = (crc ^ 0xffffffff) >>> 0;
  return base62(new Uint8Array([value >>> 24, value >>> 16, value >>> 8, value]), CHECK_CHARS);
}
