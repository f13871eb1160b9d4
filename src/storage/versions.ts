import { and, desc, eq, sql } from "drizzle-orm";
import type { Database } from "./database.ts";
import { versions } from "./schema.ts";

export type VersionRow = typeof versions.$inferSelect;

/** The number is given by the insert itself, so that two at once cannot have the same. */
export const insertVersion = (db: Database, row: Omit<VersionRow, "number">) =>
  db
    .insert(versions)
    .values({
      ...row,
      number: sql`(SELECT coalesce(max(number), 0) + 1 FROM versions WHERE model_id = ${row.model_id})`,
    })
    .returning()
    .get();

export const findVersion = (db: Database, modelId: string, number: number) =>
  db
    .select()
    .from(versions)
    .where(and(eq(versions.model_id, modelId), eq(versions.number, number)))
    .get();

export const findLatestVersion = (db: Database, modelId: string) =>
  db
    .select()
    .from(versions)
    .where(eq(versions.model_id, modelId))
    .orderBy(desc(versions.number))
    .limit(1)
    .get();
