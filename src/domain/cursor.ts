/**
 * Opaque cursors: the list, position and direction of a page. They are encrypted (AES-GCM), so that
 * clients cannot forge them, use them with another list, or learn how many hidden rows there are. The
 * nonce is a MAC of the content: the same position always has the same cursor, which keeps ETags of
 * lists stable.
 */
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import { z } from "zod";
import { invalid } from "./schemas/validation.ts";

/** The values that a list is sorted by; the last one is unique. */
export type Key = (string | number)[];

export interface Position {
  go: "next" | "previous";
  key: Key;
  /** Whether the row with this key, if it still exists, belongs to the page. */
  inclusive: boolean;
}

export interface CursorKey {
  encryption: CryptoKey;
  nonce: CryptoKey;
}

const payload = z.tuple([z.enum(["n", "p"]), z.boolean()], z.union([z.string(), z.number()]));

const KEY_BYTES = 32;
const NONCE_BYTES = 12;

/** @param hex 64 random bytes */
export async function importCursorKey(hex: string): Promise<CursorKey> {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const [encryption, nonce] = await Promise.all([
    crypto.subtle.importKey("raw", bytes.slice(0, KEY_BYTES), "AES-GCM", false, [
      "encrypt",
      "decrypt",
    ]),
    crypto.subtle.importKey("raw", bytes.slice(KEY_BYTES), hmac, false, ["sign"]),
  ]);
  return { encryption, nonce };
}

export async function encodeCursor(
  key: CursorKey,
  list: string,
  position: Position,
): Promise<string> {
  const content: z.infer<typeof payload> = [
    position.go === "next" ? "n" : "p",
    position.inclusive,
    ...position.key,
  ];
  const text = JSON.stringify(content);
  const mac = await crypto.subtle.sign("HMAC", key.nonce, bytesOf(JSON.stringify([list, text])));
  const iv = new Uint8Array(mac, 0, NONCE_BYTES);
  const ciphertext = await crypto.subtle.encrypt(cipher(iv, list), key.encryption, bytesOf(text));
  return encoded(new Uint8Array([...iv, ...new Uint8Array(ciphertext)]));
}

/** @throws ValidationFailure for a cursor that is damaged or belongs to another list */
export async function decodeCursor(
  key: CursorKey,
  list: string,
  cursor: string,
): Promise<Position> {
  const text = await decryptCursor(key, list, cursor).catch(() => undefined);
  if (text === undefined) {
    throw invalid(
      ["query", "cursor"],
      "the cursor is invalid or belongs to another list or other filters: start again without one",
    );
  }
  const [go, inclusive, ...rest] = payload.parse(JSON.parse(text));
  return { go: go === "n" ? "next" : "previous", inclusive, key: rest };
}

/** @throws Error for a cursor of another key or list, or with non-canonical base64 */
async function decryptCursor(
  { encryption }: CursorKey,
  list: string,
  cursor: string,
): Promise<string> {
  const bytes = decodeBase64Url(cursor);
  // Several base64 spellings decode to the same bytes; only the canonical one is accepted.
  if (encoded(bytes) !== cursor) throw new Error("not canonical base64");
  const [iv, ciphertext] = [bytes.slice(0, NONCE_BYTES), bytes.slice(NONCE_BYTES)];
  return new TextDecoder().decode(
    await crypto.subtle.decrypt(cipher(iv, list), encryption, ciphertext),
  );
}

const cipher = (iv: Uint8Array<ArrayBuffer>, list: string) => ({
  name: "AES-GCM",
  iv,
  additionalData: bytesOf(list),
});

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Encodes without padding, which URLs would escape. */
const encoded = (bytes: Uint8Array<ArrayBuffer>) =>
  encodeBase64Url(bytes.buffer).replaceAll("=", "");

interface Order<Row> {
  keyOf: (row: Row) => Key;
  ascending: boolean;
}

/** Rows in several lists appear once. @param lists each in this order */
export function mergeSorted<Row>(
  lists: Row[][],
  { keyOf, ascending }: Order<Row>,
  limit: number,
): Row[] {
  const [only] = lists;
  if (only && lists.length === 1) return only.slice(0, limit);
  const sign = ascending ? 1 : -1;
  const sorted = lists.flat().sort((a, b) => sign * compare(keyOf(a), keyOf(b)));
  return sorted
    .filter((row, n) => {
      const before = sorted[n - 1];
      return before === undefined || compare(keyOf(before), keyOf(row)) !== 0;
    })
    .slice(0, limit);
}

/** Compares like SQLite's row values: by the first pair that differs. */
export function compare(a: Key, b: Key): number {
  for (const [n, left] of a.entries()) {
    const right = b[n];
    if (right === undefined || left === right) continue;
    return left < right ? -1 : 1;
  }
  return 0;
}
