/** The prices of versions. */
import { and, desc, eq, lte, type SQL, sql } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import type { DatedPrices } from "../../domain/money/prices-in-force.ts";
import type { Setter } from "../../protocol/prices.ts";
import { insertIfChanged } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { versionPrices, versions } from "../schema/index.ts";

export type VersionPricesRow = typeof versionPrices.$inferSelect;

const ofVersion = (modelId: string, number: number) =>
  and(eq(versionPrices.model_id, modelId), eq(versionPrices.version_number, number));

const setFor = ({
  model_id,
  version_number,
  set_by,
}: Omit<VersionPricesRow, "prices" | "starts_at">) =>
  and(ofVersion(model_id, version_number), eq(versionPrices.set_by, set_by));

/**
 * Lists the prices of a version by their setter, the newest first.
 * @param setter limits the list to theirs
 */
export function listVersionPrices(
  db: Database,
  modelId: string,
  number: number,
  setter: Setter | undefined,
  keyset: Keyset,
) {
  const { set_by, starts_at } = versionPrices;
  const { where, order, limit } = range([set_by, starts_at], "desc", keyset);
  return db
    .select()
    .from(versionPrices)
    .where(and(ofVersion(modelId, number), setter && eq(set_by, setter), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

/** Finds the prices that count at a time, of those that one setter has set. */
export const findPricesAt = (
  db: Database,
  { starts_at, ...of }: Omit<VersionPricesRow, "prices">,
) =>
  db
    .select({ prices: versionPrices.prices })
    .from(versionPrices)
    .where(and(setFor(of), lte(versionPrices.starts_at, starts_at)))
    .orderBy(desc(versionPrices.starts_at))
    .limit(1)
    .get();

/** Lists the prices that count for a version at a time, of each setter. */
export const listPricesAt = async (
  db: Database,
  { model_id, number }: { model_id: string; number: number },
  time: number,
): Promise<DatedPrices[]> => {
  const found = db
    .select({ prices: pricesBetween(time, time).as("dated") })
    .from(versions)
    .where(and(eq(versions.model_id, model_id), eq(versions.number, number)));
  return (await found.get())?.prices ?? [];
};

/**
 * The statements that set the prices of a version from a time on, in place of those that were to begin then. The
 * first changes no row if the setter has set `max` others.
 */
export const savingPrices = (db: Database, row: VersionPricesRow, max: number, entry: EntryRow) => {
  const { model_id, version_number, set_by, starts_at, prices } = row;
  const text = prices === null ? null : JSON.stringify(prices);
  const saving = db
    .insert(versionPrices)
    .select(
      sql`SELECT ${model_id}, ${version_number}, ${set_by}, ${starts_at}, ${text}
        WHERE (SELECT count(*) FROM version_prices WHERE ${setFor(row)}
          AND starts_at <> ${starts_at}) < ${max}`,
    )
    .onConflictDoUpdate({
      target: [
        versionPrices.model_id,
        versionPrices.version_number,
        versionPrices.set_by,
        versionPrices.starts_at,
      ],
      set: { prices },
    });
  return [saving, insertIfChanged(db, entry)] as const;
};

/**
 * The prices of a version that count until `end`, from each setter, as a column of a query of `versions`: those that
 * count at `start`, and those that begin in between.
 */
export const pricesBetween = (start: number, end: number): SQL<DatedPrices[]> => {
  const of = sql`p.model_id = ${versions.model_id} AND p.version_number = ${versions.number} AND p.set_by = json_each.value`;
  const first = sql`(SELECT max(starts_at) FROM version_prices p WHERE ${of} AND starts_at <= ${start})`;
  return sql<string>`(
    SELECT json_group_array(json_object('set_by', json_each.value, 'starts_at', starts_at, 'prices', json(prices)))
    FROM json_each('["owner", "operator"]') JOIN version_prices p
      ON ${of} AND starts_at >= coalesce(${first}, 0) AND starts_at <= ${end})`.mapWith(
    (text: string) => JSON.parse(text),
  );
};
