/** Links to single predictions that their owners share. */
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { users } from "./accounts.ts";

/** Shares, found by the SHA-256 of their token, which is stored nowhere. */
export const shares = sqliteTable(
  "shares",
  {
    /** A random id, which tells neither the prediction nor the time. */
    id: text().primaryKey(),
    user_id: text()
      .notNull()
      .references(() => users.id),
    prediction_id: text().notNull(),
    /** `owner/name` of the prediction's model when the link was made. */
    model: text().notNull().default(""),
    hash: text().notNull().unique(),
    created_at: integer().notNull(),
    expires_at: integer().notNull(),
  },
  (t) => [
    index("shares_user").on(t.user_id, t.created_at, t.id),
    index("shares_expired").on(t.expires_at),
  ],
);
