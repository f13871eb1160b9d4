/**
 * A grant: what a runner pulls the image of its job with, from the deployment's own registry. It opens the
 * repository of one model, for reading, as long as the runner token that the job was claimed with is valid.
 *
 *   <model id>.<runner token id>.<unix ms of its end>.<HMAC-SHA-256, base64url>
 */
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import { derivedKey } from "../../lib/hex.ts";

export interface Grant {
  model_id: string;
  token_id: string;
  /** Unix ms. */
  expires_at: number;
}

/**
 * How long a grant outlives the time that a container may take to be ready. A pull continues beyond that
 * while other jobs wait for the same image, and sends the grant again for each layer: 100 GB at 5 MB/s take
 * 5.6 h.
 */
const MARGIN_MS = 6 * 3_600_000;

const FORM = /^([0-9a-f-]{36})\.([0-9a-f-]{36})\.(\d{13})\.([\w-]{43})$/;
const HMAC = { name: "HMAC", hash: "SHA-256" };

export const grantEnd = (now: number, setupTimeoutSeconds: number): number =>
  now + setupTimeoutSeconds * 1_000 + MARGIN_MS;

/** @param secrets SECRET_KEY, newest first. Without one there are no grants */
export async function signGrant(
  [secret]: readonly string[],
  grant: Grant,
): Promise<string | undefined> {
  if (secret === undefined) return undefined;
  const text = textOf(grant);
  const signature = await crypto.subtle.sign("HMAC", await keyOf(secret), bytesOf(text));
  return `${text}.${encodeBase64Url(signature).replaceAll("=", "")}`;
}

/** Returns undefined unless a secret signed the grant, compared in constant time, and it has not ended. */
export async function verifyGrant(
  secrets: readonly string[],
  text: string,
  now: number,
): Promise<Grant | undefined> {
  const [, model_id, token_id, end, signature] = FORM.exec(text) ?? [];
  if (!model_id || !token_id || !end || !signature) return undefined;
  const grant = { model_id, token_id, expires_at: Number(end) };
  const [bytes, content] = [decodeBase64Url(signature), bytesOf(textOf(grant))];
  const verdicts = secrets.map(async (secret) =>
    crypto.subtle.verify("HMAC", await keyOf(secret), bytes, content),
  );
  const isSigned = (await Promise.all(verdicts)).includes(true);
  return isSigned && now < grant.expires_at ? grant : undefined;
}

const textOf = ({ model_id, token_id, expires_at }: Grant) =>
  `${model_id}.${token_id}.${expires_at}`;

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** The keys by secret: deriving a key takes longer than the rest of a request's check. */
const keys = new Map<string, CryptoKey>();

async function keyOf(secret: string): Promise<CryptoKey> {
  const known = keys.get(secret);
  if (known) return known;
  const bits = await derivedKey(secret, "pulls");
  const key = await crypto.subtle.importKey("raw", bits, HMAC, false, ["sign", "verify"]);
  keys.set(secret, key);
  return key;
}
