/** Signed URLs, which need no token: created and verified with the deployment's keys. */
import { type Grant, signGrant, verifyGrant } from "../../domain/files/signed-url.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { SignedQuery } from "../../protocol/file.ts";
import { signFileUrl, signingKeys } from "../../storage/files/signed-file-urls.ts";
import type { Services } from "../services.ts";

/** Lifetime of the URL of an upload's file. */
export const SIGNED_URL_SECONDS = 86_400;

export interface PartTarget {
  id: string;
  number: number;
  /** The length in bytes. */
  length: number;
  /** The id of the token or session that the URL is for; the URL ends with it. Null: a runner. */
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
  const [newest] = await signingKeys(services.settings, services.db);
  const signature = signGrant(newest, grant, seconds);
  const whose = holder === null ? "" : `holder=${encodeURIComponent(holder)}&`;
  const query = `size=${length}&${whose}expires=${seconds}&signature=${signature}`;
  return `${origin}/v1/uploads/${id}/parts/${number}?${query}`;
}

/**
 * When a URL ends that is needed as long as a page is open: after `ms` at least and twice as long at most.
 * Many pages get the same end, so that browsers cache the file.
 */
export const stableExpiry = (now: number, ms: number): number => (Math.floor(now / ms) + 2) * ms;

/** Signs the URL of a file, with the parameters of `signFileUrl`. */
export const signedFileUrl = (
  { settings, db }: Services,
  origin: string,
  key: string,
  expires: number,
): Promise<string> => signFileUrl(settings, db, origin, key, expires);

export async function isValidSignature(
  services: Services,
  grant: Grant,
  { expires, signature }: SignedQuery,
): Promise<boolean> {
  const keys = await signingKeys(services.settings, services.db);
  return verifyGrant(keys, grant, expires, signature);
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
  stream: "GET the prediction again: it has a new one.",
  part: "GET /v1/uploads/{id} returns new ones while the upload is pending.",
  picture: "Reload the page that shows it.",
  file: "Its owner can create a new one with POST to …/addresses below its path.",
};
