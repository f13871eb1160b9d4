/** Alerts that hold, and those of the last 90 days. */
import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { AlertLevel, RuleId } from "../../domain/alerts/rules.ts";

export const alerts = sqliteTable(
  "alerts",
  {
    id: text().primaryKey(),
    rule: text().$type<RuleId>().notNull(),
    subject: text().notNull(),
    name: text().notNull(),
    level: text().$type<AlertLevel>().notNull(),
    text: text().notNull(),
    since: integer().notNull(),
    ended_at: integer(),
    notified_at: integer(),
    end_notified_at: integer(),
    claimed_at: integer(),
    error: text(),
    silenced_until: integer(),
    silenced_by: text(),
  },
  (t) => [
    // Two sweeps at once begin an alert once.
    uniqueIndex("alerts_open").on(t.rule, t.subject).where(sql`ended_at IS NULL`),
    index("alerts_ended").on(t.ended_at, t.id),
  ],
);
