/** Examples of models: runs that their owners show. */
import { and, asc, eq, isNull, like, lte, sql } from "drizzle-orm";
import type { Json } from "../../protocol/common.ts";
import { type StorageQuota, writeWithinQuota } from "../accounts/account-bytes.ts";
import type { Database } from "../database.ts";
import { examples, models } from "../schema/index.ts";

export type ExampleRow = typeof examples.$inferSelect;

/** The condition as the index has it: with a parameter in its place the index would not be used. */
const isShown = sql`removes_at IS NULL`;

export const listExamples = (db: Database, modelId: string) =>
  db
    .select()
    .from(examples)
    .where(and(eq(examples.model_id, modelId), isShown))
    .orderBy(asc(examples.position), asc(examples.id))
    .all();

/**
 * Lists choices of examples in their order. A longer output is not read for the few words that a choice
 * shows.
 */
export const listExampleChoices = (db: Database, modelId: string, maxChars: number) =>
  db
    .select({
      id: examples.id,
      input: examples.input,
      output:
        sql<Json>`CASE WHEN length(${examples.output}) <= ${maxChars} THEN ${examples.output} ELSE 'null' END`.mapWith(
          examples.output,
        ),
    })
    .from(examples)
    .where(and(eq(examples.model_id, modelId), isShown))
    .orderBy(asc(examples.position), asc(examples.id))
    .all();

export const findExample = (db: Database, modelId: string, id: string) =>
  db
    .select()
    .from(examples)
    .where(and(eq(examples.id, id), eq(examples.model_id, modelId), isShown))
    .get();

export const findFirstExample = (db: Database, modelId: string) =>
  db
    .select()
    .from(examples)
    .where(and(eq(examples.model_id, modelId), isShown))
    .orderBy(asc(examples.position), asc(examples.id))
    .limit(1)
    .get();

export const insertExample = (db: Database, row: ExampleRow) => db.insert(examples).values(row);

export interface Pictured {
  id: string;
  key: string;
}

const keyOf = ({ id, key }: Pictured) =>
  sql`(SELECT ${key} FROM examples WHERE id = ${id} AND removes_at IS NULL)`;

/**
 * Shows an example whose files have been copied, as the last. Fails (`isDuplicate`) if the run is shown
 * already, and like `writeWithinQuota`.
 * @param key of its picture, which becomes that of a model that has none
 * @returns whether the model exists and has fewer than `max`
 */
export async function showExample(
  db: Database,
  { id, model_id }: Pick<ExampleRow, "id" | "model_id">,
  { max, key }: { max: number; key: string | undefined },
  allowance: StorageQuota,
): Promise<boolean> {
  const shown = sql`FROM examples WHERE model_id = ${model_id} AND removes_at IS NULL`;
  const showing = db
    .update(examples)
    .set({
      removes_at: null,
      position: sql`(SELECT coalesce(max(position), 0) + 1 ${shown})`,
    })
    .where(
      and(
        eq(examples.id, id),
        sql`(SELECT count(*) ${shown}) < ${max}`,
        sql`EXISTS (SELECT 1 FROM models WHERE id = ${model_id})`,
      ),
    )
    .returning({ id: examples.id });
  const picturing =
    key === undefined
      ? []
      : [
          db
            .update(models)
            .set({ cover_key: keyOf({ id, key }) })
            .where(and(eq(models.id, model_id), isNull(models.cover_key))),
        ];
  return (await writeWithinQuota(db, allowance, showing, ...picturing)).length > 0;
}

/** Hides an example. @param next whose picture becomes that of its model, if that was one of its files */
export const hideExample = (
  db: Database,
  row: ExampleRow,
  now: number,
  next: Pictured | undefined,
) =>
  db.batch([
    db
      .update(examples)
      .set({ removes_at: now })
      .where(and(eq(examples.id, row.id), isShown)),
    db
      .update(models)
      .set({ cover_key: next ? keyOf(next) : null })
      .where(isCoverOf(row)),
  ]);

const isCoverOf = ({ id, model_id }: Pick<ExampleRow, "id" | "model_id">) =>
  and(eq(models.id, model_id), like(models.cover_key, `${id}/%`));

/** Removes the picture of a model if it is one of the example's files; its owner may choose another. */
export const dropCover = (db: Database, row: ExampleRow) =>
  db.update(models).set({ cover_key: "" }).where(isCoverOf(row));

/** @param ids of all examples of a model, in their new order; one that was added meanwhile stays the last */
export async function orderExamples(db: Database, ids: string[]): Promise<void> {
  const [first, ...others] = ids.map((id, n) =>
    db
      .update(examples)
      .set({ position: n + 1 })
      .where(eq(examples.id, id)),
  );
  if (first) await db.batch([first, ...others]);
}

/**
 * Sets the picture of a model. An example that is removed meanwhile does not provide it.
 * @param key of a file of the example
 */
export const setCover = (db: Database, { id, model_id }: ExampleRow, key: string) =>
  db
    .update(models)
    .set({ cover_key: key })
    .where(
      and(
        eq(models.id, model_id),
        sql`EXISTS (SELECT 1 FROM examples WHERE id = ${id} AND removes_at IS NULL)`,
      ),
    );

export const listRemoved = (db: Database, now: number, limit: number) =>
  db
    .select({ id: examples.id })
    .from(examples)
    .where(and(sql`removes_at IS NOT NULL`, lte(examples.removes_at, now)))
    .limit(limit)
    .all();

export const deleteExample = (db: Database, id: string) =>
  db.delete(examples).where(and(eq(examples.id, id), sql`removes_at IS NOT NULL`));
