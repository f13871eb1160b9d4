import { eq } from "drizzle-orm";
import type { Database } from "./database.ts";
import { hardware } from "./schema.ts";

export type HardwareRow = typeof hardware.$inferSelect;

export const insertHardware = (db: Database, row: HardwareRow) => db.insert(hardware).values(row);

export const findHardware = (db: Database, identifier: string) =>
  db.select().from(hardware).where(eq(hardware.identifier, identifier)).get();
