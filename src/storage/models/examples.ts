/** Examples of models: runs that their owners show. */
import { and, asc, eq, isNull, like, lte, sql } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import type { Json } from "../../protocol/common.ts";
import { type StorageQuota, writeWithinQuota } from "../accounts/account-bytes.ts";
import { changeRecorded, insertIfChanged } from "../audit/entries.ts";
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
  entry: EntryRow,
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
  const recording = insertIfChanged(db, entry);
  return (await writeWithinQuota(db, allowance, showing, recording, ...picturing)).length > 0;
}

/** Hides an example. @param next whose picture becomes that of its model, if that was one of its files */
export const hideExample = (
  db: Database,
  row: ExampleRow,
  now: number,
  next: Pictured | undefined,
  entry: EntryRow,
) =>
  db.batch([
    db
      .update(examples)
      .set({ removes_at: now })
      .where(and(eq(examples.id, row.id), isShown)),
    insertIfChanged(db, entry),
    db
      .update(models)
      .set({ cover_key: next ? keyOf(next) : null })
      .where(isCoverOf(row)),
  ]);

const isCoverOf = ({ id, model_id }: Pick<ExampleRow, "id" | "model_id">) =>
  and(eq(models.id, model_id), like(models.cover_key, `${id}/%`));

/** Removes the picture of a model if it is one of the example's files; its owner may choose another. */
export const dropCover = (db: Database, row: ExampleRow, entry: EntryRow) =>
  changeRecorded(db, db.update(models).set({ cover_key: "" }).where(isCoverOf(row)), entry);

/**
 * Moves an example.
 * @param ids of all examples of a model, in their new order; one that was added meanwhile stays the last
 */
export async function orderExamples(
  db: Database,
  ids: string[],
  { id: moved }: ExampleRow,
  entry: EntryRow,
): Promise<void> {
  const place = (id: string) =>
    db
      .update(examples)
      .set({ position: ids.indexOf(id) + 1 })
      .where(and(eq(examples.id, id), isShown));
  const others = ids.filter((id) => id !== moved).map(place);
  await db.batch([place(moved), insertIfChanged(db, entry), ...others]);
}

/**
 * Sets the picture of a model. An example that is removed meanwhile does not provide it.
 * @param key of a file of the example
 */
export const setCover = (
  db: Database,
  { id, model_id }: ExampleRow,
  key: string,
  entry: EntryRow,
) =>
  changeRecorded(
    db,
    db
      .update(models)
      .set({ cover_key: key })
      .where(
        and(
          eq(models.id, model_id),
          sql`EXISTS (SELECT 1 FROM examples WHERE id = ${id} AND removes_at IS NULL)`,
        ),
      ),
    entry,
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
