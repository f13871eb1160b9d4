/**
 * A runner's pass: the deployment's word that its token was valid at a certain time, so that calls
 * within 10 s of it need no look-up. An older one is not worthless: it says whose token it was, and so
 * which object to ask. It is bound to the token, which every call sends beside it: alone it opens
 * nothing.
 *
 *   <token id>.<runner id>.<pool>.<unix ms>.<HMAC-SHA-256, base64url>
 */
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import { derivedKey } from "../../lib/derived-key.ts";

export interface Pass {
  token_id: string;
  runner_id: string;
  /** The pool that the runner's session is for. */
  pool: string;
  /** When the token was known to be valid, unix ms. */
  known_at: number;
}

/** How long a runner's token counts as valid after it was looked up. */
export const TOKEN_MS = 10_000;

/** By how much the clock of the machine that signed a pass may be ahead. */
const CLOCK_SKEW_MS = 1_000;

const FORM = /^([0-9a-f-]{36})\.([0-9a-f-]{36})\.([a-z0-9._-]{1,63})\.(\d{13})\.([\w-]{43})$/;
const HMAC = { name: "HMAC", hash: "SHA-256" };

/**
 * @param secrets SECRET_KEY, newest first. Without one there are no passes
 * @param tokenHash of the token that it is bound to
 */
export async function signPass(
  [secret]: readonly string[],
  pass: Pass,
  tokenHash: string,
): Promise<string | undefined> {
  if (secret === undefined) return undefined;
  const text = textOf(pass);
  const signature = await crypto.subtle.sign("HMAC", await keyOf(secret), signed(text, tokenHash));
  return `${text}.${encodeBase64Url(signature).replaceAll("=", "")}`;
}

/** Undefined unless one of the secrets signed it for this token. Compared in constant time. */
export async function verifyPass(
  secrets: readonly string[],
  text: string,
  tokenHash: string,
): Promise<Pass | undefined> {
  const [, token_id, runner_id, pool, knownAt, signature] = FORM.exec(text) ?? [];
  if (!token_id || !runner_id || !pool || !knownAt || !signature) return undefined;
  const pass = { token_id, runner_id, pool, known_at: Number(knownAt) };
  const [bytes, content] = [decodeBase64Url(signature), signed(textOf(pass), tokenHash)];
  const verdicts = secrets.map(async (secret) =>
    crypto.subtle.verify("HMAC", await keyOf(secret), bytes, content),
  );
  return (await Promise.all(verdicts)).includes(true) ? pass : undefined;
}

/** Whether it proves by itself that the token is valid. */
export const isFresh = ({ known_at }: Pass, now: number): boolean =>
  now < known_at + TOKEN_MS && known_at <= now + CLOCK_SKEW_MS;

const textOf = ({ token_id, runner_id, pool, known_at }: Pass) =>
  `${token_id}.${runner_id}.${pool}.${known_at}`;

const signed = (text: string, tokenHash: string) =>
  new TextEncoder().encode(`${text}.${tokenHash}`);

/** By secret: deriving a key costs more than all else that a request does with it. */
const keys = new Map<string, CryptoKey>();

async function keyOf(secret: string): Promise<CryptoKey> {
  const known = keys.get(secret);
  if (known) return known;
  const bits = await derivedKey(secret, "passes");
  const key = await crypto.subtle.importKey("raw", bits, HMAC, false, ["sign", "verify"]);
  keys.set(secret, key);
  return key;
}
