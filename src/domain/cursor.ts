/**
 * Opaque cursors: where in which list a page begins, and in which direction it goes. They are
 * sealed (AES-GCM), so that nobody makes one up, takes it to another list or learns from it how
 * many rows there are that are not shown. The nonce is a MAC of what is sealed: the same place has
 * the same cursor, or no list would ever have the same ETag twice.
 */
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import { z } from "zod";
import { invalid } from "./schemas/validation.ts";

/** The values that a list is sorted by, the last of them unique. */
export type Key = (string | number)[];

export interface Position {
  go: "next" | "previous";
  key: Key;
  /** Whether the row with this key, should it still be there, is on the page itself. */
  inclusive: boolean;
}

export interface CursorKey {
  seal: CryptoKey;
  nonce: CryptoKey;
}

const payload = z.tuple([z.enum(["n", "p"]), z.boolean()], z.union([z.string(), z.number()]));

const KEY_BYTES = 32;
const NONCE_BYTES = 12;

/** @param hex 64 random bytes. */
export async function importCursorKey(hex: string): Promise<CursorKey> {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const [seal, nonce] = await Promise.all([
    crypto.subtle.importKey("raw", bytes.slice(0, KEY_BYTES), "AES-GCM", false, [
      "encrypt",
      "decrypt",
    ]),
    crypto.subtle.importKey("raw", bytes.slice(KEY_BYTES), hmac, false, ["sign"]),
  ]);
  return { seal, nonce };
}

/** @param list names the list and its filters, which the cursor belongs to. */
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
  const sealed = await crypto.subtle.encrypt(sealing(iv, list), key.seal, bytesOf(text));
  return encoded(new Uint8Array([...iv, ...new Uint8Array(sealed)]));
}

/** @throws ValidationFailure for one that is damaged, or of another list or other filters */
export async function decodeCursor(
  key: CursorKey,
  list: string,
  cursor: string,
): Promise<Position> {
  const text = await decryptCursor(key, list, cursor).catch(() => undefined);
  if (text === undefined) {
    throw invalid(
      ["query", "cursor"],
      "the cursor is damaged, or belongs to another list or other filters: begin again without one",
    );
  }
  const [go, inclusive, ...rest] = payload.parse(JSON.parse(text));
  return { go: go === "n" ? "next" : "previous", inclusive, key: rest };
}

/** @throws for what was not sealed for this list with this key, or is spelt otherwise */
async function decryptCursor({ seal }: CursorKey, list: string, cursor: string): Promise<string> {
  const bytes = decodeBase64Url(cursor);
  // base64 can be spelt in several ways, a cursor in one.
  if (encoded(bytes) !== cursor) throw new Error("not as it was written");
  const [iv, sealed] = [bytes.slice(0, NONCE_BYTES), bytes.slice(NONCE_BYTES)];
  return new TextDecoder().decode(await crypto.subtle.decrypt(sealing(iv, list), seal, sealed));
}

const sealing = (iv: Uint8Array<ArrayBuffer>, list: string) => ({
  name: "AES-GCM",
  iv,
  additionalData: bytesOf(list),
});

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Without padding, which an address would escape. */
const encoded = (bytes: Uint8Array<ArrayBuffer>) =>
  encodeBase64Url(bytes.buffer).replaceAll("=", "");
