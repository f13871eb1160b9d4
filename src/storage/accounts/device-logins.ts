import { and, eq, exists, gt, isNull, lte, or } from "drizzle-orm";
import type { Database } from "../database.ts";
import { deviceLogins, users } from "../schema/index.ts";

export type DeviceLoginRow = typeof deviceLogins.$inferSelect;

export const insertDeviceLogin = (db: Database, row: typeof deviceLogins.$inferInsert) =>
  db.insert(deviceLogins).values(row);

const isOpen = (userCode: string, now: number) =>
  and(
    eq(deviceLogins.user_code, userCode),
    isNull(deviceLogins.approved),
    gt(deviceLogins.expires_at, now),
  );

/** Finds a login that nobody has answered. */
export const findOpenLogin = (db: Database, userCode: string, now: number) =>
  db.select({ name: deviceLogins.name }).from(deviceLogins).where(isOpen(userCode, now)).get();

/** @returns whether the login was open: the first answer counts */
export async function answerLogin(
  db: Database,
  userCode: string,
  answer: { user_id: string; approved: boolean },
  now: number,
): Promise<boolean> {
  const answered = await db
    .update(deviceLogins)
    .set(answer)
    .where(isOpen(userCode, now))
    .returning({ name: deviceLogins.name });
  return answered.length > 0;
}

/**
 * Takes an approved login, which one caller only can, or else notes the poll.
 * @param before the time of the last poll after which another is too early
 * @returns `taken`: the login, which is deleted; otherwise the login as it is, and whether the poll was due
 */
export async function pollLogin(db: Database, hash: string, now: number, before: number) {
  const isTheirs = eq(deviceLogins.hash, hash);
  const person = db
    .select({ id: users.id })
    .from(users)
    .where(
      and(eq(users.id, deviceLogins.user_id), isNull(users.suspended_at), isNull(users.deleted_at)),
    );
  const [[taken], due, [row]] = await db.batch([
    db
      .delete(deviceLogins)
      .where(
        and(
          isTheirs,
          eq(deviceLogins.approved, true),
          gt(deviceLogins.expires_at, now),
          exists(person),
        ),
      )
      .returning(),
    db
      .update(deviceLogins)
      .set({ polled_at: now })
      .where(and(isTheirs, or(isNull(deviceLogins.polled_at), lte(deviceLogins.polled_at, before))))
      .returning({ hash: deviceLogins.hash }),
    db.select().from(deviceLogins).where(isTheirs),
  ]);
  return { taken, row, isDue: due.length > 0 };
}
