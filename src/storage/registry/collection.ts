/**
 * Collects links and manifests that nothing needs. Candidates are those that no push has relied on for long;
 * the needed ones among them become candidates again as late. A trigger removes a blob with its last link.
 */
import { and, eq, exists, lt, not, type SQL, sql } from "drizzle-orm";
import { alias, type SQLiteColumn, type SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "../database.ts";
import {
  registryGarbage,
  registryHolds,
  registryLinks,
  registryManifests,
  registryReferences,
  registryTags,
  versions,
} from "../schema/index.ts";

/** A step of the collection: candidates were last used before `before`. */
interface Step {
  before: number;
  now: number;
  limit: number;
}

/** The references of a step's manifests, which are deleted with them: 200,000 take D1 a second. */
const REFERENCES = 20_000;

const naming = alias(registryReferences, "naming");

/** @returns how many candidates there were */
export const collectLinks = (db: Database, step: Step) =>
  collect(
    db,
    registryLinks,
    exists(
      db
        .select({ one: sql`1` })
        .from(naming)
        .where(
          and(eq(naming.model_id, registryLinks.model_id), eq(naming.digest, registryLinks.digest)),
        ),
    ),
    step,
  );

/**
 * Collects manifests. A manifest is needed by a tag, a version, predictions of a version that was deleted, an
 * index, or the manifest that it is attached to.
 */
export const collectManifests = (db: Database, step: Step) =>
  collect(
    db,
    registryManifests,
    sql`(${isNamedIn(registryTags, registryTags.model_id, registryTags.digest)}
      OR ${isNamedIn(versions, versions.model_id, versions.container_image_digest)}
      OR ${isNamedIn(registryHolds, registryHolds.model_id, registryHolds.digest)}
      OR ${isNamedIn(registryReferences, registryReferences.model_id, registryReferences.digest)}
      OR EXISTS (SELECT 1 FROM ${registryManifests} AS main
        WHERE main.model_id = ${registryManifests.model_id} AND main.digest = ${registryManifests.subject}))`,
    step,
  );

const isNamedIn = (table: SQLiteTable, model: SQLiteColumn, digest: SQLiteColumn) =>
  sql`EXISTS (SELECT 1 FROM ${table} WHERE ${model} = ${registryManifests.model_id}
    AND ${digest} = ${registryManifests.digest})`;

async function collect(
  db: Database,
  table: typeof registryLinks | typeof registryManifests,
  isNeeded: SQL,
  { before, now, limit }: Step,
): Promise<number> {
  const due = await db
    .select({
      model_id: table.model_id,
      digest: table.digest,
      named: "named" in table ? table.named : sql<number>`0`,
    })
    .from(table)
    .where(lt(table.used_at, before))
    .orderBy(table.used_at)
    .limit(limit)
    .all();
  if (due.length === 0) return 0;
  const candidates = due.slice(0, countWithin(due, REFERENCES));
  const keys = candidates.map(({ model_id, digest }) => `${model_id} ${digest}`);
  const models = [...new Set(candidates.map(({ model_id }) => model_id))];
  const isCandidate = and(
    // This condition makes SQLite find the rows by the key.
    sql`${table.model_id} IN (SELECT value FROM json_each(${JSON.stringify(models)}))`,
    sql`${table.model_id} || ' ' || ${table.digest} IN
      (SELECT value FROM json_each(${JSON.stringify(keys)}))`,
    lt(table.used_at, before),
  );
  await db.batch([
    db.delete(table).where(and(isCandidate, not(isNeeded))),
    db.update(table).set({ used_at: now }).where(isCandidate),
  ]);
  return candidates.length;
}

/** Returns how many of them, one at least, have so many references together. */
function countWithin(due: { named: number }[], references: number): number {
  let [count, sum] = [0, 0];
  for (const { named } of due) {
    sum += named;
    if (count > 0 && sum > references) break;
    count += 1;
  }
  return count;
}

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
