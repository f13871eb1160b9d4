import { and, eq } from "drizzle-orm";
import type { Database } from "./database.ts";
import { hardware, models, users } from "./schema.ts";

export type ModelRow = typeof models.$inferSelect;

export const insertModel = (db: Database, row: ModelRow) => db.insert(models).values(row);

/** A model with its owner and hardware. */
export const findModel = (db: Database, owner: string, name: string) =>
  db
    .select({ model: models, owner: users, hardware })
    .from(users)
    .innerJoin(models, and(eq(models.owner_id, users.id), eq(models.name, name)))
    .leftJoin(hardware, eq(hardware.identifier, models.hardware_identifier))
    .where(eq(users.username, owner))
    .get();

export type FoundModel = NonNullable<Awaited<ReturnType<typeof findModel>>>;
