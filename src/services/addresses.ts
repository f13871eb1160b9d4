/** Addresses that need no token: made with the key of the deployment, and held against it. */
import { type Grant, addressKey as importKey, isSigned, signGrant } from "../domain/address.ts";
import { ProblemError } from "../errors.ts";
import type { SignedQuery } from "../protocol/file.ts";
import { findKey } from "../storage/keys.ts";
import type { Services } from "./services.ts";

/** How long the address of an upload's file is good for. */
export const ADDRESS_SECONDS = 86_400;

/** The address of one part of an upload. @param expires unix ms */
export async function partAddress(
  services: Services,
  origin: string,
  { id, number, length }: { id: string; number: number; length: number },
  expires: number,
): Promise<string> {
  const seconds = Math.floor(expires / 1000);
  const grant: Grant = ["part", id, number, length];
  const signature = await signGrant(await keyOf(services), grant, seconds);
  const query = `size=${length}&expires=${seconds}&signature=${signature}`;
  return `${origin}/v1/uploads/${id}/parts/${number}?${query}`;
}

/** @param key as R2 has it @param expires unix ms */
export async function fileAddress(
  services: Services,
  origin: string,
  key: string,
  expires: number,
): Promise<string> {
  const seconds = Math.floor(expires / 1000);
  const signature = await signGrant(await keyOf(services), ["file", key], seconds);
  return `${origin}/v1/files/${key}?expires=${seconds}&signature=${signature}`;
}

export async function isGranted(
  services: Services,
  grant: Grant,
  { expires, signature }: SignedQuery,
): Promise<boolean> {
  return isSigned(await keyOf(services), grant, expires, signature);
}

/** @throws ProblemError forbidden */
export async function requireGrant(
  services: Services,
  grant: Grant,
  query: SignedQuery,
): Promise<void> {
  if (!(await isGranted(services, grant, query))) {
    throw new ProblemError(
      "forbidden",
      "The signature of this address is not right: use the address unchanged, as it was given.",
    );
  }
  if (query.expires * 1000 < Date.now()) {
    throw new ProblemError("forbidden", `This address has expired. ${ANEW[grant[0]]}`);
  }
}

const ANEW: Record<Grant[0], string> = {
  part: "GET /v1/uploads/{id} has new ones while the upload is pending.",
  file: "Its owner gets a new one with POST to …/addresses below its path.",
};

const keys = new WeakMap<Services, CryptoKey>();

/** Read once per isolate. */
async function keyOf(services: Services): Promise<CryptoKey> {
  const known = keys.get(services);
  if (known) return known;
  const row = await findKey(services.db, "addresses");
  if (!row) throw new Error("the table `keys` has no row `addresses`: apply the migrations");
  const key = await importKey(row.value);
  keys.set(services, key);
  return key;
}
