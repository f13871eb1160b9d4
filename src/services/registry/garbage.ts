/** Deletes garbage from R2: objects and uploads that nothing refers to. */
import { abortMultipart } from "../../storage/files/files.ts";
import { forgetGarbage, listGarbage } from "../../storage/registry/garbage.ts";
import { deleteObjects } from "../../storage/registry/objects.ts";
import type { Services } from "../services.ts";

/**
 * The objects and uploads of one step: R2 deletes 1,000 objects in one call, and aborts one upload in each.
 */
const AT_ONCE = { objects: 1_000, uploads: 100 };

/** @returns how many there were; if the deletion fails, they stay for the next time */
export async function collectGarbage({ db, env }: Services): Promise<number> {
  const found = await listGarbage(db, AT_ONCE);
  if (found.length === 0) return 0;
  const keys = found.map(({ key }) => key);
  await Promise.all(
    found.map(({ key, multipart_id }) =>
      multipart_id === null ? undefined : abortMultipart(env.IMAGES, { key, multipart_id }),
    ),
  );
  await deleteObjects(env.IMAGES, keys);
  await forgetGarbage(db, keys);
  return found.length;
}
