/** Lists of a repository: its tags, and the manifests attached to an image. */
import { MEDIA_TYPES } from "../../protocol/oci.ts";
import { listReferrers, listTags } from "../../storage/registry/manifests.ts";
import type { Services } from "../services.ts";
import type { Repository } from "./repositories.ts";

export const MAX_PAGE = 1_000;

export interface ListPage<Item> {
  items: Item[];
  /** The item after which the next page begins. */
  last: string | undefined;
}

/** Returns a page. `found` has one more item than the page if there are more. */
function pageOf<Item>(found: Item[], n: number, nameOf: (item: Item) => string): ListPage<Item> {
  const items = found.slice(0, n);
  const end = items.at(-1);
  return { items, last: found.length > n && end ? nameOf(end) : undefined };
}

/** Lists tags, sorted. @param last the tag before the first */
export async function tagsOf(
  { db }: Services,
  { id }: Repository,
  last: string,
  n: number,
): Promise<ListPage<string>> {
  if (n === 0) return { items: [], last: undefined };
  const page = pageOf(await listTags(db, id, last, n + 1), n, ({ tag }) => tag);
  return { ...page, items: page.items.map(({ tag }) => tag) };
}

export interface PushedTag {
  tag: string;
  digest: string;
  updated_at: number;
}

/** The most tags of a list to choose from. */
const CHOICES = 200;

/** The prefix of Cog's own tags, for the parts of an image. */
const COG = "cog-";

/**
 * Returns the tags of a model's images to choose from, pushed last first; of very many, the first by name.
 */
export async function recentTags({ db }: Services, modelId: string): Promise<PushedTag[]> {
  const found = await listTags(db, modelId, "", CHOICES);
  return found
    .filter(({ tag }) => !tag.startsWith(COG))
    .toSorted((a, b) => b.updated_at - a.updated_at);
}

/** The referrers of a page: each may have annotations of 32 KiB. */
const REFERRERS = 100;

/**
 * @param repository undefined: a repository that does not exist, and has no referrers
 * @param last the digest before the first
 */
export async function referrersOf(
  { db }: Services,
  repository: Repository | undefined,
  subject: string,
  artifactType: string | undefined,
  last: string,
) {
  const limits = { last, limit: REFERRERS + 1 };
  const found = repository ? await listReferrers(db, repository.id, subject, limits) : [];
  const page = pageOf(found, REFERRERS, ({ digest }) => digest);
  // Types are filtered here, so that D1 does not search all referrers for a rare type: a page may be empty
  // and yet have a next one.
  const chosen = page.items.filter(
    ({ artifact_type }) => artifactType === undefined || artifact_type === artifactType,
  );
  const manifests = chosen.map(({ digest, media_type, size, artifact_type, annotations }) => ({
    mediaType: media_type,
    digest,
    size,
    ...(artifact_type !== null && { artifactType: artifact_type }),
    ...(annotations && Object.keys(annotations).length > 0 && { annotations }),
  }));
  const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.ociIndex, manifests };
  return { index, last: page.last };
}
