import { type SQL, sql } from "drizzle-orm";

/**
 * Whether a row of `members` gives access now: it has not lapsed, or it is of the last owner. Where all owners
 * have lapsed, each of them is the last.
 * @param row the name of the row in the query
 */
export function isCurrent(row: SQL = sql`members`): SQL {
  const now = Date.now();
  return sql`(${row}.lapses_at IS NULL OR ${row}.lapses_at > ${now} OR (${row}.role = 'owner'
    AND NOT EXISTS (SELECT 1 FROM members AS current_owners
      WHERE current_owners.organization_id = ${row}.organization_id AND current_owners.role = 'owner'
        AND (current_owners.lapses_at IS NULL OR current_owners.lapses_at > ${now}))))`;
}
