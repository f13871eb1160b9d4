import { decodeBase64Url } from "hono/utils/encode";
import { type SigningKey, signGrant, signingKey } from "../../domain/files/signed-url.ts";
import { REPLICATE_PATH } from "../../domain/replicate/prediction.ts";
import type { Settings } from "../../env.ts";
import { bytesOfHex, derivedKey } from "../../lib/hex.ts";
import { type Database, findKey } from "../database.ts";

type Keys = [newest: SigningKey, ...older: SigningKey[]];

const known = new WeakMap<Settings, Keys>();

/**
 * Returns the keys derived from SECRET_KEY, newest first: a URL is valid while the key that signed it is
 * listed. Without SECRET_KEY, it is the key that the deployment generated. Computed once per isolate.
 */
export async function signingKeys(settings: Settings, db: Database): Promise<Keys> {
  let keys = known.get(settings);
  if (!keys) {
    const secrets = settings.secretKeys.map((one) => derivedKey(one, "addresses"));
    const [newest = await ownKey(db), ...older] = await Promise.all(secrets);
    const keyOf = (bytes: ArrayBuffer) => signingKey(new Uint8Array(bytes));
    keys = [keyOf(newest), ...older.map(keyOf)];
    known.set(settings, keys);
  }
  return keys;
}

/**
 * @param origin of this deployment, unless files have their own (FILES_ORIGIN)
 * @param key in R2
 * @param expires Unix ms
 */
export async function signFileUrl(
  settings: Settings,
  db: Database,
  origin: string,
  key: string,
  expires: number,
): Promise<string> {
  const seconds = Math.floor(expires / 1000);
  const [newest] = await signingKeys(settings, db);
  const signature = signGrant(newest, ["file", key], seconds);
  const at = settings.filesOrigin ?? origin;
  return `${at}/v1/files/${key}?expires=${seconds}&signature=${signature}`;
}

/** How long the URL of a stream is valid. */
const STREAM_MS = 86_400_000;

/** Returns the URL at which clients of Replicate's API read an event stream, which they do without a token. */
export async function signStreamUrl(
  settings: Settings,
  db: Database,
  origin: string,
  { id, token_id }: { id: string; token_id: string },
): Promise<string> {
  const expires = Math.floor((Date.now() + STREAM_MS) / 1_000);
  const [newest] = await signingKeys(settings, db);
  const signature = signGrant(newest, ["stream", id, token_id], expires);
  const query = `token_id=${token_id}&expires=${expires}&signature=${signature}`;
  return `${origin}${REPLICATE_PATH}/streams/${id}?${query}`;
}

/**
 * Returns the secrets that sign an account's webhooks in the shape of Replicate's API, newest first: one for
 * each key. They are derived, so that there is nothing to store or to create.
 */
export async function webhookSecrets(
  settings: Settings,
  db: Database,
  userId: string,
): Promise<[newest: string, ...older: string[]]> {
  const [newest, ...older] = await signingKeys(settings, db);
  const secretOf = (key: SigningKey) =>
    `whsec_${decodeBase64Url(signGrant(key, ["webhooks", userId], 0)).toBase64()}`;
  return [secretOf(newest), ...older.map(secretOf)];
}

async function ownKey(db: Database): Promise<ArrayBuffer> {
  const row = await findKey(db, "addresses");
  if (!row) throw new Error("the table `keys` has no row `addresses`: apply the migrations");
  return bytesOfHex(row.value).buffer;
}
