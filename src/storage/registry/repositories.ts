/** Models as repositories of images. */
import { and, eq } from "drizzle-orm";
import type { Database } from "../database.ts";
import { models, users } from "../schema/index.ts";

export const findRepository = (db: Database, owner: string, name: string) =>
  db
    .select({ id: models.id, owner_id: models.owner_id, visibility: models.visibility })
    .from(models)
    .innerJoin(users, eq(users.id, models.owner_id))
    .where(and(eq(users.username, owner), eq(models.name, name)))
    .get();
