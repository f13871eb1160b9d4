/**
 * Releases the images of deleted models: pushes no longer keep them, so the next collection removes them,
 * except for images that accepted predictions still need. A model may have millions of tags, and D1 has one
 * writer for everybody, so this takes steps.
 */
import { and, asc, eq, gt, lt, lte, sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import {
  models,
  registryHolds,
  registryLinks,
  registryManifests,
  registryReleased,
  registryTags,
} from "../schema/index.ts";

/** The limits of a step: models, and rows of a table of each. */
interface Step {
  models: number;
  rows: number;
}

/** @returns how many models there were */
export async function releaseImages(db: Database, step: Step): Promise<number> {
  const released = await db
    .select({
      model_id: registryReleased.model_id,
      after: registryReleased.after,
      living: models.id,
    })
    .from(registryReleased)
    .leftJoin(models, eq(models.id, registryReleased.model_id))
    .limit(step.models)
    .all();
  for (const { living, ...one } of released) {
    // The model was deleted while a backup was made, which has it.
    if (living !== null) await keep(db, living);
    else await releaseSome(db, one, step.rows);
  }
  return released.length;
}

const keep = (db: Database, modelId: string) =>
  db.delete(registryReleased).where(eq(registryReleased.model_id, modelId));

async function releaseSome(
  db: Database,
  { model_id, after }: typeof registryReleased.$inferSelect,
  rows: number,
): Promise<void> {
  const ofModel = eq(registryTags.model_id, model_id);
  const someTags = db.select({ tag: registryTags.tag }).from(registryTags).where(ofModel);
  const [, tags, links, manifests] = await db.batch([
    db
      .delete(registryTags)
      .where(and(ofModel, sql`${registryTags.tag} IN ${someTags.limit(rows)}`)),
    db.select({ tag: registryTags.tag }).from(registryTags).where(ofModel).limit(1),
    nth(db, registryLinks, model_id, after, rows),
    nth(db, registryManifests, model_id, after, rows),
  ]);
  // Manifests are released after the tags: a manifest that is collected takes its tags along.
  if (tags.length > 0) return;
  const [last] = [...links, ...manifests].map(({ digest }) => digest).toSorted();
  const isThisStep = and(
    eq(registryReleased.model_id, model_id),
    eq(registryReleased.after, after),
  );
  await db.batch([
    release(db, registryManifests, model_id, after, last),
    release(db, registryLinks, model_id, after, last),
    last === undefined
      ? db.delete(registryReleased).where(isThisStep)
      : db.update(registryReleased).set({ after: last }).where(isThisStep),
  ]);
}

type Table = typeof registryLinks | typeof registryManifests;

/** Finds the digest with which a full step ends. */
const nth = (db: Database, table: Table, modelId: string, after: string, rows: number) =>
  db
    .select({ digest: table.digest })
    .from(table)
    .where(and(eq(table.model_id, modelId), gt(table.digest, after)))
    .orderBy(asc(table.digest))
    .limit(1)
    .offset(rows - 1);

/** @param last undefined: all remaining rows */
const release = (
  db: Database,
  table: Table,
  modelId: string,
  after: string,
  last: string | undefined,
) =>
  db
    .update(table)
    .set({ used_at: 0 })
    .where(
      and(
        eq(table.model_id, modelId),
        gt(table.digest, after),
        last === undefined ? undefined : lte(table.digest, last),
      ),
    );

/**
 * Ends the holds of deleted versions of which every prediction has ended.
 * @param limit how many at most
 * @returns how many there were
 */
export async function endHolds(db: Database, now: number, limit: number): Promise<number> {
  const ended = db
    .select({ model_id: registryHolds.model_id, digest: registryHolds.digest })
    .from(registryHolds)
    .where(lt(registryHolds.until, now))
    .orderBy(asc(registryHolds.until))
    .limit(limit);
  const [, removed] = await db.batch([
    db
      .insert(registryReleased)
      .select(sql`SELECT model_id, '' FROM ${ended} AS held
        WHERE NOT EXISTS (SELECT 1 FROM ${models} AS one WHERE one.id = held.model_id)`)
      .onConflictDoUpdate({ target: registryReleased.model_id, set: { after: "" } }),
    db
      .delete(registryHolds)
      .where(sql`(${registryHolds.model_id}, ${registryHolds.digest}) IN ${ended}`),
  ]);
  return removed.meta.changes;
}
