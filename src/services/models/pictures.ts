/**
 * Pictures of other hosts on pages of models. A page never names their hosts, which would see its visitors: it
 * has signed URLs of the deployment, which fetches them.
 */
import { signGrant } from "../../domain/files/signed-url.ts";
import { urlRefusal } from "../../domain/webhooks/address.ts";
import { ProblemError } from "../../errors/errors.ts";
import { fetchPicture, type Picture } from "../../outbound/picture.ts";
import type { SignedQuery } from "../../protocol/file.ts";
import { signingKeys } from "../../storage/files/signed-file-urls.ts";
import { requireSignature, stableExpiry } from "../files/signed-urls.ts";
import type { Services } from "../services.ts";

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
