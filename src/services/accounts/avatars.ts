/** Users' avatars, which are public. */
import { imageTypeOf } from "../../domain/files/file-type.ts";
import { invalid } from "../../domain/schemas/validation.ts";
import { conflict, notFound } from "../../errors/errors.ts";
import { hex } from "../../lib/hex.ts";
import { findUser, replaceAvatarUrl } from "../../storage/accounts/users.ts";
import { deleteAvatar, getAvatar, putAvatar } from "../../storage/files/files.ts";
import type { Caller } from "../access/access.ts";
import type { Services } from "../services.ts";
import { profileEntry } from "./users.ts";

const MAX_BYTES = 1024 ** 2;

/**
 * Detects the type from the bytes, not from what the upload declares.
 * @param origin of this deployment, for the avatar's URL
 * @throws ValidationFailure at `avatar`; ProblemError conflict on a concurrent change
 */
export async function setAvatar(
  services: Services,
  caller: Caller,
  picture: Blob,
  origin: string,
): Promise<void> {
  if (picture.size > MAX_BYTES)
    throw invalid(["body", "avatar"], "it is larger than 1 MB. Choose a smaller image");
  const bytes = await picture.bytes();
  const type = imageTypeOf(bytes);
  if (type === undefined)
    throw invalid(["body", "avatar"], "it must be a PNG, JPEG, WebP, GIF or AVIF");
  const { user_id } = caller;
  const hash = hex(await crypto.subtle.digest("SHA-256", bytes));
  await putAvatar(services.env.FILES, user_id, hash, { bytes, type });
  try {
    await replace(services, caller, `${origin}/avatars/${user_id}/${hash}`);
  } catch (error) {
    await deleteUnused(services, user_id, hash);
    throw error;
  }
}

/** @throws ProblemError conflict on a concurrent change */
export const removeAvatar = (services: Services, caller: Caller): Promise<void> =>
  replace(services, caller, "");

/** @throws ProblemError not_found */
export async function readAvatar(
  { env }: Services,
  userId: string,
  hash: string,
): Promise<R2ObjectBody> {
  const picture = await getAvatar(env.FILES, userId, hash);
  if (!picture) throw notFound("The picture");
  return picture;
}

/** The row changes before the old file is deleted, so that no page shows a dead URL. */
async function replace(services: Services, { user_id }: Caller, address: string): Promise<void> {
  const user = await findUser(services.db, user_id);
  if (!user) throw notFound("The user");
  const entry = profileEntry(user, { avatar_url: address });
  if (!(await replaceAvatarUrl(services.db, user, address, Date.now(), entry)))
    throw conflict("The picture was changed by another request. Try again.");
  const [old] = HASH.exec(user.avatar_url) ?? [];
  if (old !== undefined) await deleteUnused(services, user_id, old);
}

const HASH = /[0-9a-f]{64}$/;

/** Deletes a picture unless it is the user's current one. */
async function deleteUnused({ env, db }: Services, userId: string, hash: string): Promise<void> {
  const user = await findUser(db, userId);
  if (!user?.avatar_url.endsWith(hash)) await deleteAvatar(env.FILES, userId, hash);
}
