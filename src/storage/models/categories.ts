import { eq, inArray } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { changeRecorded, insertIfChanged } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { categories, modelCategories } from "../schema/index.ts";

export type CategoryRow = typeof categories.$inferSelect;

export function listCategories(db: Database, keyset: Keyset) {
  const { where, order, limit } = range([categories.slug], "asc", keyset);
  return db
    .select()
    .from(categories)
    .where(where)
    .orderBy(...order)
    .limit(limit)
    .all();
}

export const findCategory = (db: Database, slug: string) =>
  db.select().from(categories).where(eq(categories.slug, slug)).get();

export const findCategories = (db: Database, slugs: string[]) =>
  db
    .select({ slug: categories.slug })
    .from(categories)
    .where(inArray(categories.slug, slugs))
    .all();

export const saveCategory = (db: Database, row: CategoryRow, entry: EntryRow) =>
  changeRecorded(
    db,
    db
      .insert(categories)
      .values(row)
      .onConflictDoUpdate({
        target: categories.slug,
        set: { name: row.name, description: row.description },
      }),
    entry,
  );

export async function deleteCategory(
  db: Database,
  slug: string,
  entry: EntryRow,
): Promise<boolean> {
  const [, deleted] = await db.batch([
    db.delete(modelCategories).where(eq(modelCategories.category_slug, slug)),
    db.delete(categories).where(eq(categories.slug, slug)).returning({ slug: categories.slug }),
    insertIfChanged(db, entry),
  ]);
  return deleted.length > 0;
}
