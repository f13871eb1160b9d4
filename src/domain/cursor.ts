/** Opaque, signed cursors: where in which list a page begins, and in which direction it goes. */
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import { z } from "zod";
import { invalid } from "./validation.ts";

/** The values that a list is sorted by, the last of them unique. */
export type Key = (string | number)[];

export interface Position {
  go: "next" | "previous";
  key: Key;
  /** Whether the row with this key, should it still be there, is on the page itself. */
  inclusive: boolean;
}

const payload = z.tuple([z.enum(["n", "p"]), z.boolean()], z.union([z.string(), z.number()]));

const ALGORITHM = { name: "HMAC", hash: "SHA-256" };

/** @param hex 32 random bytes. */
export const signingKey = (hex: string): Promise<CryptoKey> =>
  crypto.subtle.importKey(
    "raw",
    Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)),
    ALGORITHM,
    false,
    ["sign", "verify"],
  );

/** @param list names the list and its filters, which the cursor belongs to. */
export async function encodeCursor(
  key: CryptoKey,
  list: string,
  position: Position,
): Promise<string> {
  const text = bytesOf(
    JSON.stringify([
      position.go === "next" ? "n" : "p",
      position.inclusive,
      ...position.key,
    ] satisfies z.infer<typeof payload>),
  );
  const signature = await crypto.subtle.sign(ALGORITHM, key, signed(list, text));
  return `${encoded(text.buffer)}.${encoded(signature)}`;
}

/** @throws ValidationFailure for one that is damaged, or of another list or other filters */
export async function decodeCursor(
  key: CryptoKey,
  list: string,
  cursor: string,
): Promise<Position> {
  const [, text, signature] = /^([\w-]+)\.([\w-]+)$/.exec(cursor) ?? [];
  const bytes = text && decoded(text);
  const proof = signature && decoded(signature);
  if (!bytes || !proof || !(await crypto.subtle.verify(ALGORITHM, key, proof, signed(list, bytes))))
    throw refused();
  const [go, inclusive, ...rest] = payload.parse(JSON.parse(new TextDecoder().decode(bytes)));
  return { go: go === "n" ? "next" : "previous", inclusive, key: rest };
}

const refused = () =>
  invalid(
    ["query", "cursor"],
    "the cursor is damaged, or belongs to another list or other filters: begin again without one",
  );

const bytesOf = (text: string) => new TextEncoder().encode(text);

const signed = (list: string, text: Uint8Array) =>
  new Uint8Array([...bytesOf(`${list}\n`), ...text]);

/** Without padding, which an address would escape. */
const encoded = (bytes: ArrayBufferLike) => encodeBase64Url(bytes).replaceAll("=", "");

/** Only as `encoded` writes it: base64 can be spelt in several ways, a cursor in one. */
function decoded(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const bytes = decodeBase64Url(text);
    return encoded(bytes.buffer) === text ? bytes : undefined;
  } catch {
    return undefined;
  }
}
