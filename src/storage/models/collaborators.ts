/** The accounts, users and organizations, that models are shared with. */
import { and, eq, inArray, sql } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import type { ShareLevel } from "../../protocol/organization.ts";
import { isSeenBy } from "../accounts/visible-models.ts";
import { changeRecorded } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { collaborators, modelCounts, models, users } from "../schema/index.ts";
import { modelItem } from "./models.ts";

export function listCollaborators(db: Database, modelId: string, keyset: Keyset) {
  const { where, order, limit } = range([collaborators.account_id], "asc", keyset);
  return db
    .select({
      account: users,
      level: collaborators.level,
      created_at: collaborators.created_at,
    })
    .from(collaborators)
    .innerJoin(users, eq(users.id, collaborators.account_id))
    .where(and(eq(collaborators.model_id, modelId), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

/** Lists the collaborators of several models. @param ids 100 at most */
export const listCollaboratorsOf = (db: Database, ids: string[]) =>
  db
    .select({
      model_id: collaborators.model_id,
      account: users,
      level: collaborators.level,
      created_at: collaborators.created_at,
    })
    .from(collaborators)
    .innerJoin(users, eq(users.id, collaborators.account_id))
    .where(inArray(collaborators.model_id, ids))
    .orderBy(collaborators.model_id, collaborators.account_id)
    .all();

/** Lists the shares that an account has received, the newest model first. */
export function listReceived(db: Database, accountId: string, keyset: Keyset) {
  const { where, order, limit } = range([collaborators.model_id], "desc", keyset);
  return db
    .select({
      id: collaborators.model_id,
      owner: users.username,
      name: models.name,
      level: collaborators.level,
      created_at: collaborators.created_at,
    })
    .from(collaborators)
    .innerJoin(models, eq(models.id, collaborators.model_id))
    .innerJoin(users, eq(users.id, models.owner_id))
    .where(and(eq(collaborators.account_id, accountId), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

export type CollaboratorRow = Awaited<ReturnType<typeof listCollaborators>>[number];

/**
 * Lists the models that are shared with an account, newest first.
 * @param ids limits the list to these; null: all
 */
export function listSharedModels(
  db: Database,
  accountId: string,
  ids: string[] | null,
  keyset: Keyset,
) {
  const { where, order, limit } = range([collaborators.model_id], "desc", keyset);
  return db
    .select(modelItem)
    .from(collaborators)
    .innerJoin(models, eq(models.id, collaborators.model_id))
    .innerJoin(users, eq(users.id, models.owner_id))
    .innerJoin(modelCounts, eq(modelCounts.model_id, models.id))
    .where(
      and(
        eq(collaborators.account_id, accountId),
        isSeenBy(accountId),
        ids ? inArray(collaborators.model_id, ids) : undefined,
        where,
      ),
    )
    .orderBy(...order)
    .limit(limit)
    .all();
}

const isOne = (modelId: string, accountId: string) =>
  and(eq(collaborators.model_id, modelId), eq(collaborators.account_id, accountId));

export const findCollaborator = (db: Database, modelId: string, accountId: string) =>
  db.select().from(collaborators).where(isOne(modelId, accountId)).get();

/**
 * Shares a model with an account, or changes the level, unless the model has `max` other collaborators, or one
 * of the two was deleted meanwhile.
 * @returns when it was first shared; undefined if it was not
 */
export async function saveCollaborator(
  db: Database,
  row: { model_id: string; account_id: string; level: ShareLevel; created_at: number },
  max: number,
  entry: EntryRow,
): Promise<number | undefined> {
  const { model_id, account_id, level, created_at } = row;
  const saving = db
    .insert(collaborators)
    .select(
      sql`SELECT models.id, users.id, ${level}, ${created_at} FROM models, users
        WHERE models.id = ${model_id} AND users.id = ${account_id} AND users.deleted_at IS NULL
          AND (SELECT count(*) FROM collaborators
            WHERE model_id = ${model_id} AND account_id <> ${account_id}) < ${max}`,
    )
    .onConflictDoUpdate({
      target: [collaborators.model_id, collaborators.account_id],
      set: { level },
    })
    .returning({ created_at: collaborators.created_at });
  const [saved] = await changeRecorded(db, saving, entry);
  return saved?.created_at;
}

/** @returns whether it was shared */
export async function deleteCollaborator(
  db: Database,
  modelId: string,
  accountId: string,
  entry: EntryRow,
): Promise<boolean> {
  const deleting = db
    .delete(collaborators)
    .where(isOne(modelId, accountId))
    .returning({ model_id: collaborators.model_id });
  const deleted = await changeRecorded(db, deleting, entry);
  return deleted.length > 0;
}
