/**
 * Secrets at rest: texts sealed with AES-256-GCM, under keys derived from the deployment's
 * SECRET_KEY. A sealed text is bound to its place, so that nobody who can write to the database
 * moves it to another; and it names its key, so that older ones still open when a new one is put
 * before them.
 *
 *   v1.<key id>.<base64url of nonce and ciphertext>
 */
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import { derivedKey } from "../lib/derived-key.ts";
import { hex } from "../lib/hex.ts";

/** What a key is derived for: none opens what another has sealed. */
type Purpose = "variables" | "webhooks";

export interface EncryptionKeys {
  /** SECRET_KEY, newest first: the first seals, any of them opens. */
  secrets: readonly string[];
  purpose: Purpose;
  /** Names what is sealed, and where it stands: `model_id:name`, say. */
  place: string;
}

/** No key that the deployment has opens a text. The message is for its operator. */
export class DecryptionFailed extends Error {
  override readonly name = "Unopened";
}

interface DerivedKey {
  id: string;
  key: CryptoKey;
}

const FORM = /^v1\.([0-9a-f]{8})\.([\w-]+)$/;
const NONCE_BYTES = 12;

/** By purpose and secret: deriving one costs more than all that is done with it in a request. */
const derived = new Map<string, DerivedKey>();

/** @throws Error without a secret: ask for one first */
export async function encrypt(
  { secrets, purpose, place }: EncryptionKeys,
  text: string,
): Promise<string> {
  const [secret] = secrets;
  if (secret === undefined) throw new Error("nothing can be sealed without SECRET_KEY");
  const { id, key } = await keyOf(purpose, secret);
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const ciphertext = await crypto.subtle.encrypt(cipher(nonce, place), key, bytesOf(text));
  const bytes = new Uint8Array([...nonce, ...new Uint8Array(ciphertext)]);
  return `v1.${id}.${encodeBase64Url(bytes.buffer).replaceAll("=", "")}`;
}

/** @throws Unopened */
export async function decrypt(
  { secrets, purpose, place }: EncryptionKeys,
  sealed: string,
): Promise<string> {
  const [, id, content = ""] = FORM.exec(sealed) ?? [];
  if (id === undefined) throw new DecryptionFailed("what is stored is not a sealed text");
  const keys = await Promise.all(secrets.map((secret) => keyOf(purpose, secret)));
  const found = keys.find((one) => one.id === id);
  if (!found) {
    throw new DecryptionFailed(
      `it was sealed with a SECRET_KEY (key ${id}) that this deployment does not have: put that one behind the current one, with a comma between them, or set the value anew`,
    );
  }
  return opened(found, place, content).catch((cause: unknown) => {
    throw new DecryptionFailed("it was changed, or sealed for another place", { cause });
  });
}

/** What every text begins with that this key has sealed. */
export const keyPrefix = async (purpose: Purpose, secret: string): Promise<string> =>
  `v1.${(await keyOf(purpose, secret)).id}.`;

async function opened({ key }: DerivedKey, place: string, content: string): Promise<string> {
  const bytes = decodeBase64Url(content);
  const [nonce, ciphertext] = [bytes.slice(0, NONCE_BYTES), bytes.slice(NONCE_BYTES)];
  const text = await crypto.subtle.decrypt(cipher(nonce, place), key, ciphertext);
  return new TextDecoder("utf-8", { ignoreBOM: true, fatal: true }).decode(text);
}

async function keyOf(purpose: Purpose, secret: string): Promise<DerivedKey> {
  const name = `${purpose}:${secret}`;
  const known = derived.get(name);
  if (known) return known;
  const bits = await derivedKey(secret, purpose);
  const [key, hash] = await Promise.all([
    crypto.subtle.importKey("raw", bits, "AES-GCM", false, ["encrypt", "decrypt"]),
    crypto.subtle.digest("SHA-256", bits),
  ]);
  const made = { id: hex(hash).slice(0, 8), key };
  derived.set(name, made);
  return made;
}

const cipher = (iv: Uint8Array<ArrayBuffer>, place: string) => ({
  name: "AES-GCM",
  iv,
  additionalData: bytesOf(place),
});

const bytesOf = (text: string) => new TextEncoder().encode(text);
