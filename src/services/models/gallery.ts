/** The facts that a gallery shows of models in addition to those of lists. */
import type { OutputModality } from "../../domain/models/output-modality.ts";
import { findGalleryFacts } from "../../storage/models/models.ts";
import { signedFileUrl, stableExpiry } from "../files/signed-urls.ts";
import type { Services } from "../services.ts";
import { pictureUrls } from "./pictures.ts";
import { databaseFor } from "./public-reads.ts";

export interface GalleryFacts {
  makes: OutputModality | null;
  /** When the model's latest version was published, Unix ms; null: the model has no version. */
  published_at: number | null;
  /** The URL of the model's picture, which is valid as long as a page is open. */
  cover: string | undefined;
}

const URL_MS = 3_600_000;

/**
 * @param ids of models that the caller sees, 100 at most
 * @param caller undefined: a visitor
 */
export async function readGallery(
  services: Services,
  caller: object | undefined,
  ids: string[],
  origin: string,
): Promise<Map<string, GalleryFacts>> {
  if (ids.length === 0) return new Map();
  const rows = await findGalleryFacts(databaseFor(services, caller), ids);
  const pictureUrl = await pictureUrls(services, origin);
  const expires = stableExpiry(Date.now(), URL_MS);
  return new Map(
    await Promise.all(
      rows.map(async (row): Promise<[string, GalleryFacts]> => {
        const { id, cover_key: key, cover_image_url: url, ...facts } = row;
        const cover = key
          ? await signedFileUrl(services, origin, key, expires)
          : (key === null && url && pictureUrl(url)) || undefined;
        return [id, { ...facts, cover }];
      }),
    ),
  );
}
