/** Signed URLs, which need no token: created and verified with the deployment's keys. */
import {
  type Grant,
  importSigningKey,
  signGrant,
  verifyGrant,
} from "../../domain/files/signed-url.ts";
import { ProblemError } from "../../errors.ts";
import { derivedKey } from "../../lib/derived-key.ts";
import { bytesOfHex } from "../../lib/hex.ts";
import type { SignedQuery } from "../../protocol/file.ts";
import { findKey } from "../../storage/keys.ts";
import type { Services } from "../services.ts";

/** Lifetime of the URL of an upload's file. */
export const SIGNED_URL_SECONDS = 86_400;

/** One part of an upload, and who may send it. */
export interface PartTarget {
  id: string;
  number: number;
  /** Bytes. */
  length: number;
  /** Id of the token or session that the URL is for; it ends with it. Null: a runner. */
  holder: string | null;
}

/** @param expires Unix ms */
export async function signedPartUrl(
  services: Services,
  origin: string,
  { id, number, length, holder }: PartTarget,
  expires: number,
): Promise<string> {
  const seconds = Math.floor(expires / 1000);
  const grant: Grant = ["part", id, number, length, holder];
  const signature = await signGrant(await signingKey(services), grant, seconds);
  const whose = holder === null ? "" : `holder=${encodeURIComponent(holder)}&`;
  const query = `size=${length}&${whose}expires=${seconds}&signature=${signature}`;
  return `${origin}/v1/uploads/${id}/parts/${number}?${query}`;
}

/**
 * @param origin of this deployment, unless files have their own (FILES_ORIGIN)
 * @param key in R2
 * @param expires Unix ms
 */
export async function signedFileUrl(
  services: Services,
  origin: string,
  key: string,
  expires: number,
): Promise<string> {
  const seconds = Math.floor(expires / 1000);
  const signature = await signGrant(await signingKey(services), ["file", key], seconds);
  const at = services.settings.filesOrigin ?? origin;
  return `${at}/v1/files/${key}?expires=${seconds}&signature=${signature}`;
}

export async function isValidSignature(
  services: Services,
  grant: Grant,
  { expires, signature }: SignedQuery,
): Promise<boolean> {
  return verifyGrant(await keysOf(services), grant, expires, signature);
}

/** @throws ProblemError forbidden */
export async function requireSignature(
  services: Services,
  grant: Grant,
  query: SignedQuery,
): Promise<void> {
  if (!(await isValidSignature(services, grant, query))) {
    throw new ProblemError(
      "forbidden",
      "The signature of this URL is invalid. Use the URL unchanged.",
    );
  }
  if (query.expires * 1000 < Date.now()) {
    throw new ProblemError("forbidden", `This URL has expired. ${HOW_TO_RENEW[grant[0]]}`);
  }
}

const HOW_TO_RENEW: Record<Grant[0], string> = {
  part: "GET /v1/uploads/{id} returns new ones while the upload is pending.",
  file: "Its owner can create a new one with POST to …/addresses below its path.",
};

const known = new WeakMap<Services, [CryptoKey, ...CryptoKey[]]>();

async function signingKey(services: Services): Promise<CryptoKey> {
  const [newest] = await keysOf(services);
  return newest;
}

/**
 * Derived from SECRET_KEY, newest first: a URL is valid while the key that signed it is listed.
 * Without SECRET_KEY, the key that the deployment generated. Computed once per isolate.
 */
async function keysOf(services: Services): Promise<[CryptoKey, ...CryptoKey[]]> {
  let keys = known.get(services);
  if (!keys) {
    const { secretKeys } = services.settings;
    const secrets = await Promise.all(secretKeys.map((one) => derivedKey(one, "addresses")));
    const [newest = await ownKey(services), ...older] = secrets;
    keys = [await importSigningKey(newest), ...(await Promise.all(older.map(importSigningKey)))];
    known.set(services, keys);
  }
  return keys;
}

async function ownKey({ db }: Services): Promise<BufferSource> {
  const row = await findKey(db, "addresses");
  if (!row) throw new Error("the table `keys` has no row `addresses`: apply the migrations");
  return bytesOfHex(row.value);
}
