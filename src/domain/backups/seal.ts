/**
 * Parts of a backup are compressed, and encrypted with AES-256-GCM. Each backup has a key of its own,
 * derived from BACKUP_KEY. A part is bound to its place, its backup and number, so that none can be put
 * in the place of another.
 *
 *   id of the BACKUP_KEY (4 bytes), nonce (12 bytes), ciphertext
 */
import { derivedKey, hex } from "../../lib/hex.ts";

export interface PartPlace {
  backup: string;
  number: number;
}

/** The error for a part that cannot be opened. Its message is for the operator. */
export class UnreadablePart extends Error {
  override readonly name = "UnreadablePart";
}

type Bytes = Uint8Array<ArrayBuffer>;

const ID_BYTES = 4;
const NONCE_BYTES = 12;

/** Returns an id of a BACKUP_KEY, which does not reveal it. */
export const backupKeyId = async (secret: string): Promise<string> =>
  hex((await derivedKey(secret, "backup key id")).slice(0, ID_BYTES));

/** @param secrets BACKUP_KEY, newest first */
export async function sealPart(
  secrets: readonly string[],
  place: PartPlace,
  text: string,
): Promise<Bytes> {
  const [secret] = secrets;
  if (secret === undefined) throw new Error("nothing can be backed up without BACKUP_KEY");
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const [id, key, compressed] = await Promise.all([
    derivedKey(secret, "backup key id"),
    keyOf(secret, place),
    through(new CompressionStream("gzip"), text),
  ]);
  const ciphertext = await crypto.subtle.encrypt(cipher(nonce, place), key, compressed);
  return joined([new Uint8Array(id, 0, ID_BYTES), nonce, new Uint8Array(ciphertext)]);
}

/** @throws UnreadablePart */
export async function openPart(
  secrets: readonly string[],
  place: PartPlace,
  bytes: Bytes,
): Promise<string> {
  const id = hex(bytes.slice(0, ID_BYTES).buffer);
  const ids = await Promise.all(secrets.map(backupKeyId));
  const secret = secrets[ids.indexOf(id)];
  if (secret === undefined) {
    throw new UnreadablePart(
      `${nameOf(place)} was encrypted with a different BACKUP_KEY (key ID ${id}; yours: ${ids.join(", ") || "none"}). Set that key, or append it to the current one after a comma.`,
    );
  }
  const nonce = bytes.slice(ID_BYTES, ID_BYTES + NONCE_BYTES);
  const ciphertext = bytes.slice(ID_BYTES + NONCE_BYTES);
  const key = await keyOf(secret, place);
  const compressed = await crypto.subtle
    .decrypt(cipher(nonce, place), key, ciphertext)
    .catch((cause: unknown) => {
      const what = `${nameOf(place)} cannot be decrypted: it was modified, or belongs to another backup.`;
      throw new UnreadablePart(what, { cause });
    });
  const plain = await through(new DecompressionStream("gzip"), compressed);
  return new TextDecoder().decode(plain);
}

export const sha256 = async (bytes: Bytes): Promise<string> =>
  hex(await crypto.subtle.digest("SHA-256", bytes));

const nameOf = ({ backup, number }: PartPlace) =>
  number === 0 ? `The manifest of ${backup}` : `Part ${number} of ${backup}`;

async function keyOf(secret: string, { backup }: PartPlace) {
  const bits = await derivedKey(secret, `backup ${backup}`);
  return crypto.subtle.importKey("raw", bits, "AES-GCM", false, ["encrypt", "decrypt"]);
}

const cipher = (iv: Bytes, { backup, number }: PartPlace) => ({
  name: "AES-GCM",
  iv,
  additionalData: new TextEncoder().encode(`${backup}/${number}`),
});

const through = (stream: CompressionStream | DecompressionStream, data: string | ArrayBuffer) =>
  new Response(new Blob([data]).stream().pipeThrough(stream)).arrayBuffer();

function joined(pieces: Uint8Array[]): Bytes {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
