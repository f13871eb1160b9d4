/**
 * Encryption of secrets at rest: AES-256-GCM with keys derived from the deployment's SECRET_KEY. A
 * ciphertext is bound to its context (what it belongs to), so that someone who can write to the
 * database cannot move it. It names its key, so that older keys keep working during a rotation.
 *
 *   v1.<key id>.<base64url of nonce and ciphertext>
 */
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import { derivedKey, hex } from "../lib/hex.ts";

type Purpose = "variables" | "webhooks";

export interface EncryptionKeys {
  /** SECRET_KEY, newest first: the first one encrypts, all of them decrypt. */
  secrets: readonly string[];
  purpose: Purpose;
  /** Identifies the secret and where it is stored, for example `model_id:name`. */
  context: string;
}

/** Thrown when no key of the deployment decrypts a ciphertext. The message is for the operator. */
export class DecryptionFailed extends Error {
  override readonly name = "DecryptionFailed";
}

interface DerivedKey {
  id: string;
  key: CryptoKey;
}

const FORM = /^v1\.([0-9a-f]{8})\.([\w-]+)$/;
const NONCE_BYTES = 12;

/** Keys by purpose and secret: deriving a key costs more than everything a request does with it. */
const derived = new Map<string, DerivedKey>();

/** @throws Error without a secret: check first */
export async function encrypt(
  { secrets, purpose, context }: EncryptionKeys,
  text: string,
): Promise<string> {
  const [secret] = secrets;
  if (secret === undefined) throw new Error("nothing can be encrypted without SECRET_KEY");
  const { id, key } = await keyOf(purpose, secret);
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const ciphertext = await crypto.subtle.encrypt(cipher(nonce, context), key, bytesOf(text));
  const bytes = new Uint8Array([...nonce, ...new Uint8Array(ciphertext)]);
  return `v1.${id}.${encodeBase64Url(bytes.buffer).replaceAll("=", "")}`;
}

/** @throws DecryptionFailed */
export async function decrypt(
  { secrets, purpose, context }: EncryptionKeys,
  ciphertext: string,
): Promise<string> {
  const [, id, content = ""] = FORM.exec(ciphertext) ?? [];
  if (id === undefined) throw new DecryptionFailed("the stored value is not a ciphertext");
  const keys = await Promise.all(secrets.map((secret) => keyOf(purpose, secret)));
  const key = keys.find((one) => one.id === id);
  if (!key) {
    throw new DecryptionFailed(
      `it was encrypted with a SECRET_KEY (key ${id}) that this deployment does not have: append that key to the current one, separated by a comma, or set the value again`,
    );
  }
  return decryptWith(key, context, content).catch((cause: unknown) => {
    throw new DecryptionFailed("it was modified, or encrypted for something else", { cause });
  });
}

export const keyPrefix = async (purpose: Purpose, secret: string): Promise<string> =>
  `v1.${(await keyOf(purpose, secret)).id}.`;

async function decryptWith({ key }: DerivedKey, context: string, content: string): Promise<string> {
  const bytes = decodeBase64Url(content);
  const [nonce, ciphertext] = [bytes.slice(0, NONCE_BYTES), bytes.slice(NONCE_BYTES)];
  const text = await crypto.subtle.decrypt(cipher(nonce, context), key, ciphertext);
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
  const derivedKeyWithId = { id: hex(hash).slice(0, 8), key };
  derived.set(name, derivedKeyWithId);
  return derivedKeyWithId;
}

const cipher = (iv: Uint8Array<ArrayBuffer>, context: string) => ({
  name: "AES-GCM",
  iv,
  additionalData: bytesOf(context),
});

const bytesOf = (text: string) => new TextEncoder().encode(text);
