import { sqliteTable, text } from "drizzle-orm/sqlite-core";

/** Keys that the deployment generated for itself, in its first migration (hex). */
export const keys = sqliteTable("keys", {
  name: text().primaryKey(),
  value: text().notNull(),
});
