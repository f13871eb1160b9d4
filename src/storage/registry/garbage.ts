/** The garbage of the registry: objects in R2 that nothing names any more. */
import { sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import { registryGarbage } from "../schema/index.ts";

/** @param uploads the most multipart uploads among them */
export async function listGarbage(
  db: Database,
  { objects, uploads }: { objects: number; uploads: number },
) {
  const found = await db.select().from(registryGarbage).limit(objects).all();
  let left = uploads;
  return found.filter(({ multipart_id }) => multipart_id === null || left-- > 0);
}

/**
 * Makes garbage of the keys that neither a blob nor an upload has.
 * @param keys any number: they are one parameter
 */
export const dropUnknown = (db: Database, keys: string[]) =>
  db
    .insert(registryGarbage)
    .select(
      sql`SELECT value, NULL FROM json_each(${JSON.stringify(keys)})
        WHERE NOT EXISTS (SELECT 1 FROM registry_blobs WHERE key = value)
          AND value NOT IN (SELECT key FROM registry_uploads UNION ALL
            SELECT rest_key FROM registry_uploads WHERE rest_key IS NOT NULL)`,
    )
    .onConflictDoNothing();

/** Forgets garbage that is deleted. @param keys any number: they are one parameter */
export const forgetGarbage = (db: Database, keys: string[]) =>
  db
    .delete(registryGarbage)
    .where(sql`${registryGarbage.key} IN (SELECT value FROM json_each(${JSON.stringify(keys)}))`);
