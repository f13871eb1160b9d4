import { eq } from "drizzle-orm";
import type { Database } from "./database.ts";
import { keys } from "./schema/index.ts";

/** Finds a key that the deployment generated for itself. */
export const findKey = (db: Database, name: string) =>
  db.select().from(keys).where(eq(keys.name, name)).get();
