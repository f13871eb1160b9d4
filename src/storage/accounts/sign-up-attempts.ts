import { lt, sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import { signUpTries } from "../schema/index.ts";

/** @returns the new count */
export async function countSignUpAttempt(db: Database, day: string, by: string): Promise<number> {
  const [row] = await db
    .insert(signUpTries)
    .values({ day, by, tries: 1 })
    .onConflictDoUpdate({
      target: [signUpTries.day, signUpTries.by],
      set: { tries: sql`${signUpTries.tries} + 1` },
    })
    .returning({ tries: signUpTries.tries });
  return row?.tries ?? 0;
}

export async function deleteSignUpAttemptsBefore(db: Database, day: string): Promise<void> {
  await db.delete(signUpTries).where(lt(signUpTries.day, day));
}
