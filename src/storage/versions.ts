import { and, eq, isNull, sql } from "drizzle-orm";
import type { Database } from "./database.ts";
import { type Keyset, range } from "./keyset.ts";
import { underWay } from "./models.ts";
import { versions } from "./schema.ts";

export type VersionRow = typeof versions.$inferSelect;

/**
 * Number and inherited configuration are found by the insert itself, so that two at once cannot
 * have the same number. The highest says how many there are, for rows stay: fails, as `isFull`
 * tells, when it is `max`.
 */
export const insertVersion = (
  db: Database,
  row: Omit<VersionRow, "number" | "configuration" | "deleted_at">,
  configuration: VersionRow["configuration"] | undefined,
  max: number,
) =>
  db
    .insert(versions)
    .values({
      ...row,
      number: sql`(SELECT iif(max(number) >= ${max}, NULL, coalesce(max(number), 0) + 1)
        FROM versions WHERE model_id = ${row.model_id})`,
      configuration:
        configuration ??
        sql`coalesce((SELECT configuration FROM versions
          WHERE model_id = ${row.model_id} AND deleted_at IS NULL
          ORDER BY number DESC LIMIT 1), '{}')`,
    })
    .returning()
    .get();

export const findVersion = (db: Database, modelId: string, number: number) =>
  db
    .select()
    .from(versions)
    .where(
      and(eq(versions.model_id, modelId), eq(versions.number, number), isNull(versions.deleted_at)),
    )
    .get();

/** Newest first. */
export function listVersions(db: Database, modelId: string, keyset: Keyset) {
  const { where, order, limit } = range([versions.number], "desc", keyset);
  return db
    .select({
      number: versions.number,
      release_notes: versions.release_notes,
      created_at: versions.created_at,
      container_image_digest: versions.container_image_digest,
    })
    .from(versions)
    .where(and(eq(versions.model_id, modelId), isNull(versions.deleted_at), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

export type VersionSummaryRow = Awaited<ReturnType<typeof listVersions>>[number];

/** Unless a prediction of it is under way. @returns whether it was deleted */
export async function deleteVersion(
  db: Database,
  modelId: string,
  number: number,
  now: number,
): Promise<boolean> {
  const deleted = await db
    .update(versions)
    .set({ deleted_at: now })
    .where(
      and(
        eq(versions.model_id, modelId),
        eq(versions.number, number),
        isNull(versions.deleted_at),
        sql`NOT EXISTS ${underWay(modelId, number)}`,
      ),
    )
    .returning({ number: versions.number });
  return deleted.length > 0;
}
