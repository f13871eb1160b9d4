import { and, eq, type SQL, sql } from "drizzle-orm";
import { type StorageQuota, withinBytes } from "../accounts/account-bytes.ts";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { models, modelVariables } from "../schema/index.ts";

export type VariableRow = typeof modelVariables.$inferSelect;

/** Of a model: names and times, by name. */
export function listVariables(db: Database, modelId: string, keyset: Keyset) {
  const { where, order, limit } = range([modelVariables.name], "asc", keyset);
  return db
    .select({ name: modelVariables.name, updated_at: modelVariables.updated_at })
    .from(modelVariables)
    .where(and(eq(modelVariables.model_id, modelId), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

export type VariableSummaryRow = Awaited<ReturnType<typeof listVariables>>[number];

/** Of all of a model, by name: a column of a query of `models`. */
export const sealedVariables: SQL<Record<string, string>> = sql`(
  SELECT json_group_object(${modelVariables.name}, ${modelVariables.sealed})
  FROM ${modelVariables} WHERE ${modelVariables.model_id} = ${models.id})`.mapWith((text: string) =>
  JSON.parse(text),
);

/** What a model may have. */
interface Room {
  variables: number;
  /** In all sealed texts together. */
  chars: number;
}

/**
 * Set, anew when it is there, unless the model would have more than there is room for: the
 * statement itself looks, so that two at once cannot both have the last place. Fails as `withinBytes`
 * does.
 * @returns whether it was set
 */
export async function saveVariable(
  db: Database,
  { model_id, name, sealed, updated_at }: VariableRow,
  room: Room,
  allowance: StorageQuota,
): Promise<boolean> {
  const others = sql`FROM model_variables WHERE model_id = ${model_id} AND name <> ${name}`;
  const saving = db
    .insert(modelVariables)
    .select(
      sql`SELECT ${model_id}, ${name}, ${sealed}, ${updated_at}
        WHERE (SELECT count(*) ${others}) < ${room.variables}
          AND (SELECT coalesce(sum(length(sealed)), 0) ${others}) <= ${room.chars - sealed.length}`,
    )
    .onConflictDoUpdate({
      target: [modelVariables.model_id, modelVariables.name],
      set: { sealed, updated_at },
    });
  const result = await withinBytes(db, allowance, saving);
  return result.meta.changes > 0;
}

/** @returns whether there was one to delete */
export async function deleteVariable(
  db: Database,
  modelId: string,
  name: string,
): Promise<boolean> {
  const deleted = await db
    .delete(modelVariables)
    .where(and(eq(modelVariables.model_id, modelId), eq(modelVariables.name, name)))
    .returning({ name: modelVariables.name });
  return deleted.length > 0;
}
