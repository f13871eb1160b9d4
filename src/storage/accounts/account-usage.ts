/** The usage of all accounts by day, as their objects report it. */
import { lt, sql } from "drizzle-orm";
import { SUMS, type UsageCount } from "../../domain/accounts/usage.ts";
import type { UsageMessage } from "../../protocol/queue.ts";
import type { DeploymentGroup } from "../../protocol/usage.ts";
import { type Database, runBatch } from "../database.ts";
import { accountUsage } from "../schema/index.ts";

/** Rows of a statement, which takes 100 parameters: a row needs 12. */
const ROWS_A_STATEMENT = 8;

const replaced = Object.fromEntries(
  [...SUMS, "told_at"].map((name) => [name, sql.raw(`excluded.${name}`)]),
);

/** Writes usage. Figures are absolute, so an older message changes nothing. */
export async function writeUsage(db: Database, rows: UsageMessage[]): Promise<void> {
  const statements = Array.from({ length: Math.ceil(rows.length / ROWS_A_STATEMENT) }, (_, n) =>
    db
      .insert(accountUsage)
      .values(rows.slice(n * ROWS_A_STATEMENT, (n + 1) * ROWS_A_STATEMENT))
      .onConflictDoUpdate({
        target: [accountUsage.day, accountUsage.user_id],
        set: replaced,
        setWhere: sql`${accountUsage.told_at} <= excluded.told_at`,
      }),
  );
  if (statements.length > 0) await runBatch(db, statements);
}

/** @param days all days that the account can have usage of: the key begins with the day */
export const deleteUsageOf = (db: Database, userId: string, days: string[]) =>
  db.delete(accountUsage).where(
    sql`(${accountUsage.day}, ${accountUsage.user_id}) IN (
      SELECT value, ${userId} FROM json_each(${JSON.stringify(days)}))`,
  );

export const deleteUsageBefore = (db: Database, day: string) =>
  db.delete(accountUsage).where(lt(accountUsage.day, day));

export interface DeploymentUsage extends UsageCount {
  day?: string;
  month?: string;
  account_id?: string;
  /** Null if the account is no longer there. */
  account?: string | null;
}

const GROUPS: Record<DeploymentGroup, { by: string; columns: string[] }> = {
  day: { by: "day", columns: ["day"] },
  month: { by: "substr(day, 1, 7)", columns: ["substr(day, 1, 7) AS month"] },
  account: { by: "user_id", columns: ["user_id AS account_id", "username AS account"] },
};

/** Sums the usage of all accounts. Oldest first, those that cost most or ran most before others. */
export function sumUsageBy(
  db: Database,
  days: { from: string; to: string },
  groups: DeploymentGroup[],
  limit: number,
): Promise<DeploymentUsage[]> {
  const by = groups.map((group) => GROUPS[group].by);
  const times = groups.filter((group) => group !== "account").map((group) => GROUPS[group].by);
  const columns = groups.flatMap((group) => GROUPS[group].columns);
  const sums = SUMS.map((name) => `min(total(${name}), ${Number.MAX_SAFE_INTEGER}) AS ${name}`);
  return db.all<DeploymentUsage>(sql`SELECT ${sql.raw([...columns, ...sums].join(", "))}
    FROM account_usage LEFT JOIN users ON users.id = user_id
    WHERE day BETWEEN ${days.from} AND ${days.to} GROUP BY ${sql.raw(by.join(", "))}
    ORDER BY ${sql.raw([...times, "total(cost) DESC", "total(predictions) DESC", ...by].join(", "))}
    LIMIT ${limit}`);
}
