/** Blobs that the database knows and R2 does not have, such as after a restore of the database alone. */
import { findBlob, replaceObject } from "../../storage/registry/blobs.ts";
import { headObject } from "../../storage/registry/objects.ts";
import type { Services } from "../services.ts";

/** Replaces the lost object of a blob whose bytes were sent again. */
export async function replaceLost(
  { db, env }: Services,
  digest: string,
  key: string,
): Promise<void> {
  const known = await findBlob(db, digest);
  if (known && !(await headObject(env.IMAGES, known.key)))
    await replaceObject(db, digest, known.key, key);
}
