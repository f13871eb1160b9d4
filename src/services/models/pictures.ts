/**
 * Pictures on pages of models. A page never names other hosts, which would see its visitors: it has signed URLs
 * of the deployment, which fetches the pictures, or has them as uploads of the model's owner.
 */
import { ROWS_OF } from "../../domain/accounts/write-rows.ts";
import { signGrant } from "../../domain/files/signed-url.ts";
import { urlRefusal } from "../../domain/webhooks/address.ts";
import { ProblemError } from "../../errors/errors.ts";
import { fetchPicture, type Picture } from "../../outbound/picture.ts";
import type { SignedQuery } from "../../protocol/file.ts";
import { signingKeys } from "../../storage/files/signed-file-urls.ts";
import { findOwnUploads, keepShown } from "../../storage/files/uploads.ts";
import { chargeRows } from "../access/write-limit.ts";
import { requireSignature, signedFileUrl, stableExpiry } from "../files/signed-urls.ts";
import type { Services } from "../services.ts";
import { keptUntil } from "./weight-files.ts";

export const PICTURES = "/pictures";

const URL_MS = 3_600_000;

/** Returns the URL at which a page shows a picture; undefined for one that cannot be shown. */
export type PictureUrl = (address: string) => string | undefined;

/** @param origin of this deployment, whose files a Worker cannot fetch */
export async function pictureUrls({ settings, db }: Services, origin: string): Promise<PictureUrl> {
  const [key] = await signingKeys(settings, db);
  const expires = stableExpiry(Date.now(), URL_MS) / 1_000;
  return (address) => {
    const url = URL.parse(address);
    if (!url || url.origin === origin || urlRefusal(url, settings.webhooks.allowInsecure))
      return undefined;
    const signature = signGrant(key, ["picture", url.href], expires);
    const query = { url: url.href, expires: String(expires), signature };
    return `${PICTURES}?${new URLSearchParams(query)}`;
  };
}

const UPLOAD = /\/v1\/uploads\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/g;
/** The most uploads of one overview that are shown. D1 takes 100 parameters, and a change names two overviews. */
const MAX_UPLOADS = 40;

/** Returns the ids of the uploads that an overview shows. */
export const uploadsIn = (overview: string): string[] =>
  [...new Set([...overview.matchAll(UPLOAD)].map(([, id = ""]) => id))].slice(0, MAX_UPLOADS);

/** Returns `pictureUrls` for an overview, which may also show uploads of the model's owner. */
export async function overviewPictures(
  services: Services,
  origin: string,
  { owner, overview }: { owner: { id: string }; overview: string },
): Promise<PictureUrl> {
  const elsewhere = await pictureUrls(services, origin);
  const ids = uploadsIn(overview);
  if (ids.length === 0) return elsewhere;
  const rows = await findOwnUploads(services.db, owner.id, ids);
  const expires = stableExpiry(Date.now(), URL_MS);
  const urls = await Promise.all(
    rows
      // Collaborators edit overviews as well: they could name other uploads of the owner, such as weights.
      .filter(
        ({ completed_at, mime_type }) => completed_at !== null && mime_type.startsWith("image/"),
      )
      .map(async ({ id, key }): Promise<[string, string]> => {
        const url = await signedFileUrl(services, origin, key, expires);
        return [`${origin}/v1/uploads/${id}`, url];
      }),
  );
  const own = new Map(urls);
  return (address) => own.get(URL.parse(address, origin)?.href ?? "") ?? elsewhere(address);
}

/**
 * Keeps the uploads that overviews show, and no longer those that they showed before. Called after a change.
 * @param overviews before and after the change
 */
export async function keepPictures(
  services: Services,
  ownerId: string,
  ...overviews: string[]
): Promise<void> {
  const ids = [...new Set(overviews.flatMap(uploadsIn))];
  if (ids.length === 0) return;
  await chargeRows(services, ROWS_OF.namedFile * ids.length);
  await keepShown(services.db, ownerId, ids, keptUntil(services));
}

/** @throws ProblemError forbidden, not_found */
export async function readPicture(
  services: Services,
  { url, ...query }: SignedQuery & { url: string },
): Promise<Picture> {
  await requireSignature(services, ["picture", url], query);
  const picture = await fetchPicture(url, services.settings.webhooks);
  if (typeof picture === "string")
    throw new ProblemError("not_found", `The picture at ${url} cannot be shown: ${picture}.`);
  return picture;
}
