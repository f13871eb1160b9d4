import { and, eq, lt, type SQL, sql } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import type { Health } from "../../domain/webhooks/health.ts";
import { changeRecorded } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { type EndpointSecret, webhookEndpoints } from "../schema/index.ts";

export type WebhookEndpointRow = typeof webhookEndpoints.$inferSelect;
export type { EndpointSecret };

/** Fields that its owner can change. */
export type EndpointChanges = Partial<
  Omit<WebhookEndpointRow, "id" | "user_id" | "secrets" | "created_at" | "updated_at">
>;

/** Every change gets a different time, so that it identifies the version of a row. */
const changedAt = (now: number) => sql`max(${webhookEndpoints.updated_at} + 1, ${now})`;

/** Inserts an endpoint unless the account has `max`. @returns whether it was inserted */
export async function insertEndpoint(
  db: Database,
  row: WebhookEndpointRow,
  max: number,
  entry: EntryRow,
): Promise<boolean> {
  const count = sql`(SELECT count(*) FROM webhook_endpoints WHERE user_id = ${row.user_id})`;
  const inserting = db.insert(webhookEndpoints).select(sql`SELECT
    ${row.id}, ${row.user_id}, ${row.url}, ${row.description}, ${JSON.stringify(row.events)},
    ${JSON.stringify(row.secrets)}, ${row.enabled}, NULL, NULL, NULL, ${row.created_at}, ${row.updated_at}
    WHERE ${count} < ${max}`);
  const result = await changeRecorded(db, inserting, entry);
  return result.meta.changes > 0;
}

export const findEndpoint = (db: Database, id: string) =>
  db.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id)).get();

export const findOwnEndpoint = (db: Database, userId: string, id: string) =>
  db.select().from(webhookEndpoints).where(isOwn(userId, id)).get();

export const selectEnabled = (db: Database, userId: string | SQL) =>
  db
    .select({ id: webhookEndpoints.id, events: webhookEndpoints.events })
    .from(webhookEndpoints)
    .where(and(eq(webhookEndpoints.user_id, userId), eq(webhookEndpoints.enabled, true)))
    .orderBy(webhookEndpoints.id);

/** Lists an account's endpoints, newest first. */
export function listEndpoints(db: Database, userId: string, keyset: Keyset) {
  const { where, order, limit } = range([webhookEndpoints.id], "desc", keyset);
  return db
    .select()
    .from(webhookEndpoints)
    .where(and(eq(webhookEndpoints.user_id, userId), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

/** @returns the updated row; undefined if there is none */
export async function updateEndpoint(
  db: Database,
  userId: string,
  id: string,
  changes: EndpointChanges,
  now: number,
  entry: EntryRow,
): Promise<WebhookEndpointRow | undefined> {
  const updating = db
    .update(webhookEndpoints)
    .set({ ...changes, updated_at: changedAt(now) })
    .where(isOwn(userId, id))
    .returning();
  return (await changeRecorded(db, updating, entry))[0];
}

/** @returns whether it existed */
export async function deleteEndpoint(
  db: Database,
  userId: string,
  id: string,
  entry: EntryRow,
): Promise<boolean> {
  const deleting = db
    .delete(webhookEndpoints)
    .where(isOwn(userId, id))
    .returning({ id: webhookEndpoints.id });
  const deleted = await changeRecorded(db, deleting, entry);
  return deleted.length > 0;
}

const secretCount = sql`json_array_length(${webhookEndpoints.secrets})`;

/** @returns the updated endpoint; undefined if it has `max` secrets, or does not exist */
export async function addSecret(
  db: Database,
  userId: string,
  id: string,
  secret: EndpointSecret,
  max: number,
  entry: EntryRow,
): Promise<WebhookEndpointRow | undefined> {
  const adding = db
    .update(webhookEndpoints)
    .set({
      secrets: sql`json_insert(${webhookEndpoints.secrets}, '$[#]', json(${JSON.stringify(secret)}))`,
      updated_at: changedAt(secret.created_at),
    })
    .where(and(isOwn(userId, id), sql`${secretCount} < ${max}`))
    .returning();
  return (await changeRecorded(db, adding, entry))[0];
}

/** @returns the updated endpoint; undefined if it is the only secret, or does not exist */
export async function removeSecret(
  db: Database,
  userId: string,
  id: string,
  secretId: string,
  now: number,
  entry: EntryRow,
): Promise<WebhookEndpointRow | undefined> {
  const removing = db
    .update(webhookEndpoints)
    .set({
      secrets: sql`(SELECT json_group_array(json(value)) FROM json_each(${webhookEndpoints.secrets})
        WHERE value ->> 'id' <> ${secretId})`,
      updated_at: changedAt(now),
    })
    .where(
      and(
        isOwn(userId, id),
        sql`${secretCount} > 1`,
        sql`EXISTS (SELECT 1 FROM json_each(${webhookEndpoints.secrets})
          WHERE value ->> 'id' = ${secretId})`,
      ),
    )
    .returning();
  return (await changeRecorded(db, removing, entry))[0];
}

/** Stores the same secrets encrypted differently, unless they were changed in the meantime. */
export const replaceSecrets = (
  db: Database,
  { id, secrets }: WebhookEndpointRow,
  replaced: EndpointSecret[],
) =>
  db
    .update(webhookEndpoints)
    .set({ secrets: replaced })
    .where(
      and(
        eq(webhookEndpoints.id, id),
        sql`${webhookEndpoints.secrets} = ${JSON.stringify(secrets)}`,
      ),
    );

/** The state of the endpoint that an attempt was based on. */
export interface Basis {
  /** When the attempt began. */
  at: number;
  /**
   * `updated_at` of the row that the attempt used: if the owner has changed the endpoint since, the outcome
   * does not count.
   */
  updated_at: number;
  /** When the failures began, as the attempt saw it. Undefined if it does not matter. */
  failing_since?: number | null;
}

/** @returns whether the basis still held and the health was saved */
export async function saveHealth(
  db: Database,
  id: string,
  { enabled, failing_since, last_error, notice }: Health,
  { at, updated_at, failing_since: was }: Basis,
): Promise<boolean> {
  const saved = await db
    .update(webhookEndpoints)
    .set({
      enabled,
      failing_since,
      last_error,
      notice,
      ...(!enabled && { updated_at: changedAt(at) }),
    })
    .where(
      and(
        isUnchanged(id, updated_at),
        was === undefined ? undefined : sql`${webhookEndpoints.failing_since} IS ${was}`,
      ),
    )
    .returning({ id: webhookEndpoints.id });
  return saved.length > 0;
}

/** Ends a run of failures that began before a successful attempt. */
export async function clearFailures(
  db: Database,
  id: string,
  { at, updated_at }: Basis,
): Promise<void> {
  await db
    .update(webhookEndpoints)
    .set({ failing_since: null, last_error: null })
    .where(and(isUnchanged(id, updated_at), lt(webhookEndpoints.failing_since, at)));
}

/** Whether the endpoint is enabled and has not changed since. */
const isUnchanged = (id: string, updatedAt: number) =>
  and(
    eq(webhookEndpoints.id, id),
    eq(webhookEndpoints.enabled, true),
    eq(webhookEndpoints.updated_at, updatedAt),
  );

const isOwn = (userId: string, id: string) =>
  and(eq(webhookEndpoints.id, id), eq(webhookEndpoints.user_id, userId));
