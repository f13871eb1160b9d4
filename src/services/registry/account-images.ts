/** The images that an account has pushed, with what keeps each of them. */
import { z } from "zod";
import { kindOf } from "../../protocol/oci.ts";
import { type AccountImageRow, listAccountImages } from "../../storage/registry/account-images.ts";
import type { Caller } from "../access/access.ts";
import { readOwnModel } from "../models/models.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";
import { removeManifest } from "./manifests.ts";

const SHOWN = { tags: 10, versions: 5, named: 2_000 };

export interface Some<Item> {
  items: Item[];
  more: boolean;
}

export interface AccountImage {
  name: string;
  digest: string;
  /** Whether it is made of images for several platforms. */
  isIndex: boolean;
  /** When the image was pushed. Undefined: not known any more. */
  pushed_at: number | undefined;
  /** The size in bytes. Undefined: the image has more parts than are counted. */
  bytes: number | undefined;
  tags: Some<string>;
  versions: Some<number>;
  /** The time until which predictions of a deleted version may need the image. */
  held_until: number | undefined;
}

/**
 * Lists images, newest first. Parts that only other images need are left out, so a page may be shorter than
 * requested.
 */
export async function listOwnImages(
  services: Services,
  { user_id }: Pick<Caller, "user_id">,
  request: PageRequest,
): Promise<Page<AccountImage>> {
  const shown = { tags: SHOWN.tags + 1, versions: SHOWN.versions + 1, named: SHOWN.named };
  const now = Date.now();
  const page = await paginate(services, request, {
    name: `images/${user_id}`,
    find: (keyset) => listAccountImages(services.db, user_id, keyset, shown),
    keyOf: ({ pushed_at, model_id, digest }) => [pushed_at, model_id, digest],
    present: (row) => presented(row, now),
  });
  return { ...page, items: page.items.filter((image) => image !== undefined) };
}

/** @returns undefined for an image that is removed with another, or by itself */
function presented(row: AccountImageRow, now: number): AccountImage | undefined {
  const { name, digest, media_type, pushed_at, bytes, held_until } = row;
  const tags = someOf(tagList.parse(JSON.parse(row.tags)), SHOWN.tags);
  const versions = someOf(versionList.parse(JSON.parse(row.versions)), SHOWN.versions);
  const isMeant = row.is_part === 0 || tags.items.length + versions.items.length > 0;
  if (name === null || !isMeant) return undefined;
  return {
    name,
    digest,
    isIndex: kindOf(media_type) === "index",
    pushed_at: pushed_at === 0 ? undefined : pushed_at,
    bytes: bytes ?? undefined,
    tags,
    versions,
    held_until: held_until !== null && held_until > now ? held_until : undefined,
  };
}

const tagList = z.array(z.string());
const versionList = z.array(z.number());

const someOf = <Item>(all: Item[], count: number): Some<Item> => ({
  items: all.slice(0, count),
  more: all.length > count,
});

/**
 * Removes a tag, or an image with all of its tags.
 * @throws ProblemError not_found, forbidden; RegistryError MANIFEST_UNKNOWN, DENIED while something needs it
 */
export async function removeOwnImage(
  services: Services,
  caller: Caller,
  { owner, name, reference }: { owner: string; name: string; reference: string },
): Promise<void> {
  const { id, owner: user, visibility, level } = await readOwnModel(services, caller, owner, name);
  const repository = { id, owner_id: user.id, visibility, level };
  await removeManifest(services, repository, { owner, name }, reference);
}
