import { and, eq, inArray, type SQL, sql } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { type StorageQuota, writeWithinQuota } from "../accounts/account-bytes.ts";
import { changeRecorded, insertIfChanged } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { models, modelVariables } from "../schema/index.ts";

export type VariableRow = typeof modelVariables.$inferSelect;

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

/** Lists the variables of several models by name. @param ids 100 at most */
export const listVariableNames = (db: Database, ids: string[]) =>
  db
    .select({ model_id: modelVariables.model_id, name: modelVariables.name })
    .from(modelVariables)
    .where(inArray(modelVariables.model_id, ids))
    .orderBy(modelVariables.model_id, modelVariables.name)
    .all();

/** A model's encrypted values by name, as a column of a query of `models`. */
export const sealedVariables: SQL<Record<string, string>> = sql`(
  SELECT json_group_object(${modelVariables.name}, ${modelVariables.sealed})
  FROM ${modelVariables} WHERE ${modelVariables.model_id} = ${models.id})`.mapWith((text: string) =>
  JSON.parse(text),
);

/** Finds a model's encrypted values by name. */
export async function findVariables(
  db: Database,
  modelId: string,
): Promise<Record<string, string>> {
  const rows = await db
    .select({ name: modelVariables.name, sealed: modelVariables.sealed })
    .from(modelVariables)
    .where(eq(modelVariables.model_id, modelId))
    .all();
  return Object.fromEntries(rows.map(({ name, sealed }) => [name, sealed]));
}

interface Limits {
  variables: number;
  /** The characters of all encrypted values together. */
  chars: number;
}

/**
 * Sets a variable, unless the model would exceed its limits. The statement checks them itself, so
 * that two at once cannot both take the last place. Fails like `writeWithinQuota`.
 * @returns whether it was set
 */
export async function saveVariable(
  db: Database,
  { model_id, name, sealed, updated_at }: VariableRow,
  limits: Limits,
  allowance: StorageQuota,
  entry: EntryRow,
): Promise<boolean> {
  const others = sql`FROM model_variables WHERE model_id = ${model_id} AND name <> ${name}`;
  const saving = db
    .insert(modelVariables)
    .select(
      sql`SELECT ${model_id}, ${name}, ${sealed}, ${updated_at}
        WHERE (SELECT count(*) ${others}) < ${limits.variables}
          AND (SELECT coalesce(sum(length(sealed)), 0) ${others}) <= ${limits.chars - sealed.length}`,
    )
    .onConflictDoUpdate({
      target: [modelVariables.model_id, modelVariables.name],
      set: { sealed, updated_at },
    });
  const result = await writeWithinQuota(db, allowance, saving, insertIfChanged(db, entry));
  return result.meta.changes > 0;
}

/** @returns whether it existed */
export async function deleteVariable(
  db: Database,
  modelId: string,
  name: string,
  entry: EntryRow,
): Promise<boolean> {
  const deleting = db
    .delete(modelVariables)
    .where(and(eq(modelVariables.model_id, modelId), eq(modelVariables.name, name)))
    .returning({ name: modelVariables.name });
  const deleted = await changeRecorded(db, deleting, entry);
  return deleted.length > 0;
}
