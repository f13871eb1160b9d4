import {
  and,
  desc,
  eq,
  getTableColumns,
  inArray,
  isNotNull,
  isNull,
  lt,
  notExists,
  sql,
} from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { insertEntry } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { runners, runnerTokens } from "../schema/index.ts";

export type RunnerRow = typeof runners.$inferSelect & {
  /** When its token was revoked: the runner can no longer connect. */
  revoked_at: number | null;
};

const withToken = (db: Database) =>
  db
    .select({ ...getTableColumns(runners), revoked_at: runnerTokens.revoked_at })
    .from(runners)
    .innerJoin(runnerTokens, eq(runnerTokens.id, runners.token_id));

/**
 * Saves a runner. It is identified by its token and name, so it stays the same across restarts. Fails
 * (`isLimitReached`) for a new runner if the token has `max`.
 * @returns undefined when the token is revoked: so the revocation reaches every runner that was saved
 */
export function saveRunner(db: Database, row: typeof runners.$inferInsert, max: number) {
  const { token_id } = row;
  const known = sql`EXISTS(SELECT 1 FROM runners WHERE token_id = ${token_id} AND name = ${row.name})`;
  const count = sql`(SELECT count(*) FROM runners WHERE token_id = ${token_id})`;
  const id = sql`iif(${known} OR ${count} < ${max}, ${row.id}, NULL)`;
  return db
    .insert(runners)
    .select(
      sql`SELECT ${id}, ${token_id}, ${row.name}, ${JSON.stringify(row.hardware)}, ${row.pool}, ${row.created_at}, ${row.updated_at}
        FROM runner_tokens WHERE runner_tokens.id = ${token_id} AND revoked_at IS NULL`,
    )
    .onConflictDoUpdate({
      target: [runners.token_id, runners.name],
      set: { hardware: row.hardware, pool: row.pool, updated_at: row.updated_at },
    })
    .returning({ id: runners.id })
    .get();
}

export const findRunner = (db: Database, id: string) =>
  withToken(db).where(eq(runners.id, id)).get();

export const findRunners = (db: Database, ids: string[]) =>
  withToken(db).where(inArray(runners.id, ids)).all();

/** Returns whether a runner exists that may connect. @param hardware undefined: of any class */
export async function runnerIsThere(db: Database, hardware: string | undefined): Promise<boolean> {
  const ofClass =
    hardware === undefined
      ? undefined
      : sql`EXISTS (SELECT 1 FROM json_each(${runners.hardware}) WHERE value = ${hardware})`;
  const found = await withToken(db)
    .where(and(isNull(runnerTokens.revoked_at), ofClass))
    .limit(1)
    .get();
  return found !== undefined;
}

export const listRunnerIds = (db: Database, tokenId: string) =>
  db.select({ id: runners.id }).from(runners).where(eq(runners.token_id, tokenId)).all();

export const deleteRunner = (db: Database, id: string) =>
  db.delete(runners).where(eq(runners.id, id));

/** Deletes a runner that an operator removed. Its row may be gone already: it polls once more. */
export const removeRunner = (db: Database, id: string, entry: EntryRow) =>
  db.batch([deleteRunner(db, id), insertEntry(db, entry)]);

export function listRunners(db: Database, keyset: Keyset) {
  const { where, order, limit } = range([runners.id], "desc", keyset);
  return withToken(db)
    .where(where)
    .orderBy(...order)
    .limit(limit)
    .all();
}

/** Lists the newest runners, those that may connect first. */
export async function listNewestRunners(db: Database, limit: number): Promise<RunnerRow[]> {
  const newest = (condition: ReturnType<typeof isNull>) =>
    withToken(db).where(condition).orderBy(desc(runners.id)).limit(limit);
  const [live, shutOut] = await db.batch([
    newest(isNull(runnerTokens.revoked_at)),
    newest(isNotNull(runnerTokens.revoked_at)),
  ]);
  return [...live, ...shutOut].slice(0, limit);
}

/**
 * Lists runners whose token was revoked before then, in random order: those whose objects never answer must
 * not keep the others waiting.
 */
export const listShutOutRunners = (db: Database, revokedBefore: number, limit: number) =>
  db
    .select({ id: runners.id })
    .from(runnerTokens)
    .innerJoin(runners, eq(runners.token_id, runnerTokens.id))
    .where(lt(runnerTokens.revoked_at, revokedBefore))
    .orderBy(sql`random()`)
    .limit(limit)
    .all();

export const deleteRevokedTokens = (db: Database, revokedBefore: number) =>
  db
    .delete(runnerTokens)
    .where(
      and(
        lt(runnerTokens.revoked_at, revokedBefore),
        notExists(
          db.select({ id: runners.id }).from(runners).where(eq(runners.token_id, runnerTokens.id)),
        ),
      ),
    );
