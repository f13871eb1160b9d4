import { lt, sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import { signUpAttempts } from "../schema/index.ts";

/** @returns the new count */
export async function countSignUpAttempt(
  db: Database,
  day: string,
  client: string,
): Promise<number> {
  const [row] = await db
    .insert(signUpAttempts)
    .values({ day, client, attempts: 1 })
    .onConflictDoUpdate({
      target: [signUpAttempts.day, signUpAttempts.client],
      set: { attempts: sql`${signUpAttempts.attempts} + 1` },
    })
    .returning({ attempts: signUpAttempts.attempts });
  return row?.attempts ?? 0;
}

export async function deleteSignUpAttemptsBefore(db: Database, day: string): Promise<void> {
  await db.delete(signUpAttempts).where(lt(signUpAttempts.day, day));
}
