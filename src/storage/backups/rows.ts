/** Reads the rows of any table for a backup, and writes them again. */
import { and, asc, gt, gte, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import type { Key } from "../../domain/cursor.ts";
import type { StoredRow } from "../../protocol/backup.ts";
import type { Database } from "../database.ts";
import { categories, hardware, modelCounts, pools, users } from "../schema/index.ts";
import type { BackupTable } from "./tables.ts";

export function selectRows(
  db: Database,
  { name, key, pageRows }: BackupTable,
  after: Key | null,
): Promise<StoredRow[]> {
  const columns = list(key.map(column));
  const beyond = after && sql`WHERE (${columns}) > (${list(after.map((value) => sql`${value}`))})`;
  return db.all<StoredRow>(
    sql`SELECT * FROM ${column(name)} ${beyond ?? sql``} ORDER BY ${columns} LIMIT ${pageRows}`,
  );
}

export const keyOf = ({ key }: BackupTable, row: StoredRow): Key =>
  key.map((name) => row[name] ?? "");

/** Returns the numbers of the rows that exist already, and of those that refer to a missing row. */
export async function checkRows(
  db: Database,
  { name, key, references }: BackupTable,
  rows: StoredRow[],
): Promise<{ present: Set<number>; orphans: Set<number> }> {
  const isPresent = exists(name, key, key);
  const isOrphan = references.map(({ columns, table, foreign }) => {
    const refers = columns.map((one) => sql`${cell(one)} IS NOT NULL`);
    return sql`(${sql.join(refers, sql` AND `)} AND NOT ${exists(table, foreign, columns)})`;
  });
  const found = await db.all<{ n: number; present: number }>(sql`
    SELECT given.key AS n, ${isPresent} AS present FROM json_each(${JSON.stringify(rows)}) AS given
    WHERE ${sql.join([isPresent, ...isOrphan], sql` OR `)}`);
  const numbers = (present: number) =>
    new Set(found.filter((one) => one.present === present).map(({ n }) => n));
  return { present: numbers(1), orphans: numbers(0) };
}

/** Whether the table has a row with these cells of the given one, which is looked up in an index. */
function exists(table: string, columns: string[], cells: string[]): SQL {
  const equal = columns.map((one, n) => sql`${column(one)} = ${cell(cells[n] ?? one)}`);
  return sql`EXISTS (SELECT 1 FROM ${column(table)} WHERE ${sql.join(equal, sql` AND `)})`;
}

/** Inserts rows. Triggers fire as for any new row. */
export function insertRows(db: Database, { table, columns }: BackupTable, rows: StoredRow[]) {
  const json = JSON.stringify(rows);
  if (table === modelCounts) return setCounts(db, json);
  return db
    .insert(table)
    .select(
      sql`SELECT ${list(columns.map(cell))} FROM json_each(${json}) AS given ORDER BY given.key`,
    );
}

/** Sets the counts of models, whose rows a trigger has made. Lists follow within a minute. */
const setCounts = (db: Database, json: string) =>
  db
    .insert(modelCounts)
    .select(
      sql`SELECT ${cell("model_id")}, ${cell("predictions_count")}, 0, true
        FROM json_each(${json}) AS given WHERE true`,
    )
    .onConflictDoUpdate({
      target: modelCounts.model_id,
      set: { predictions_count: sql`excluded.predictions_count`, unlisted: true },
    });

/** Deletes the rows that the migration has inserted, which a restore replaces. */
export const deleteSeeds = (db: Database) => [
  db.delete(categories),
  db.delete(hardware),
  db.delete(pools),
];

/** Returns whether nobody has used the deployment yet. */
export async function isEmpty(db: Database): Promise<boolean> {
  const used = ["users", "logins", "models", "runner_tokens"].map(
    (name) => sql`SELECT 1 FROM ${column(name)}`,
  );
  const rows = await db.all(sql`SELECT 1 WHERE EXISTS (${sql.join(used, sql` UNION ALL `)})`);
  return rows.length === 0;
}

const column = (name: string) => sql.identifier(name);

const cell = (name: string) => sql`(given.value ->> ${sql.raw(`'${name}'`)})`;

const list = (parts: SQL[] | ReturnType<typeof column>[]) => sql.join(parts, sql`, `);

export interface AccountOfUser {
  id: string;
  account_object: string;
}

/**
 * Lists accounts that have an object, without deleted ones.
 * @param from the id of a user, inclusive or not
 */
export async function listAccountObjects(
  db: Database,
  from: string,
  inclusive: boolean,
  limit: number,
): Promise<AccountOfUser[]> {
  const rows = await db
    .select({ id: users.id, account_object: users.account_object })
    .from(users)
    .where(
      and(
        (inclusive ? gte : gt)(users.id, from),
        isNotNull(users.account_object),
        isNull(users.deleted_at),
      ),
    )
    .orderBy(asc(users.id))
    .limit(limit)
    .all();
  return rows.flatMap(({ id, account_object }) =>
    account_object === null ? [] : [{ id, account_object }],
  );
}
