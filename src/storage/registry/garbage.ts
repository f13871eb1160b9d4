/** What R2 has and nothing names any more. */
import { sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import { registryGarbage } from "../schema/index.ts";

export const listGarbage = (db: Database, limit: number) =>
  db.select().from(registryGarbage).limit(limit).all();

/** Once it is deleted. @param keys any number: they are one parameter */
export const forgetGarbage = (db: Database, keys: string[]) =>
  db
    .delete(registryGarbage)
    .where(sql`${registryGarbage.key} IN (SELECT value FROM json_each(${JSON.stringify(keys)}))`);
