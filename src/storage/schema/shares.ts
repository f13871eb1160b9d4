/** Links to single predictions that their owners have given out. */
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { users } from "./accounts.ts";

/** Found by the SHA-256 of its token, which is stored nowhere. */
export const shares = sqliteTable(
  "shares",
  {
    /** Says nothing of the prediction, nor of when. */
    id: text().primaryKey(),
    user_id: text()
      .notNull()
      .references(() => users.id),
    prediction_id: text().notNull(),
    /** `owner/name` of its model, when the link was made. */
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
