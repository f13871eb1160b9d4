/** Alerts in D1, and what they are decided from besides the fleet. */
import {
  and,
  desc,
  eq,
  getTableColumns,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  sql,
} from "drizzle-orm";
import { type ExpiringToken, MIN_LIFE_MS } from "../../domain/alerts/deployment.ts";
import {
  type AlertRow,
  type Changes,
  HISTORY_MS,
  HOLD_MS,
  RECENT_MS,
} from "../../domain/alerts/life.ts";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { OPERATOR_SCOPES } from "../../protocol/operator.ts";
import { changeRecorded } from "../audit/entries.ts";
import { type Database, runBatch } from "../database.ts";
import { alerts, tokens, users, webhookEndpoints } from "../schema/index.ts";

const MAX_RECENT = 1_000;
const MAX_SUBJECTS = 50;

/** Lists the alerts that hold, and of those that ended within a week the last 1,000. */
export async function listRecent(db: Database, now: number): Promise<AlertRow[]> {
  const [holding, ended] = await db.batch([
    db.select().from(alerts).where(isNull(alerts.ended_at)),
    db
      .select()
      .from(alerts)
      .where(gt(alerts.ended_at, now - RECENT_MS))
      .orderBy(desc(alerts.ended_at), desc(alerts.id))
      .limit(MAX_RECENT),
  ]);
  return [...holding, ...ended];
}

/** Writes changes, and deletes what is older than the history. Of two sweeps at once, the first one writes. */
export const saveChanges = (
  db: Database,
  { begun, ended, dropped }: Changes,
  newId: () => string,
  now: number,
) =>
  runBatch(db, [
    ...ended.map(({ id }) =>
      db
        .update(alerts)
        .set({ ended_at: now })
        .where(and(eq(alerts.id, id), isNull(alerts.ended_at))),
    ),
    ...dropped.map(({ id }) =>
      db.delete(alerts).where(and(eq(alerts.id, id), isNull(alerts.claimed_at))),
    ),
    // Insertions come last: an alert that has become critical takes the place of its warning.
    ...begun.map((alert) =>
      db
        .insert(alerts)
        .values({ ...alert, id: newId(), since: now })
        .onConflictDoNothing(),
    ),
    db.delete(alerts).where(lt(alerts.ended_at, now - HISTORY_MS)),
  ]);

/**
 * Claims rows, so that this sweep alone sends their messages. A row that another sweep has changed since it was
 * read is not claimed.
 * @returns the ids of those that are claimed
 */
export async function claimRows(db: Database, rows: AlertRow[], now: number): Promise<string[]> {
  const claimed = await runBatch(
    db,
    rows.map(({ id, claimed_at, notified_at, ended_at }) =>
      db
        .update(alerts)
        .set({ claimed_at: now })
        .where(
          and(
            eq(alerts.id, id),
            sql`${alerts.claimed_at} IS ${claimed_at}`,
            sql`${alerts.notified_at} IS ${notified_at}`,
            sql`${alerts.ended_at} IS ${ended_at}`,
          ),
        )
        .returning({ id: alerts.id }),
    ),
  );
  return claimed.flat().map(({ id }) => id);
}

/** Stores that messages were sent. */
export const setNotified = (
  db: Database,
  ids: string[],
  column: "notified_at" | "end_notified_at",
  claimedAt: number,
) =>
  db
    .update(alerts)
    .set({ [column]: claimedAt, claimed_at: null, error: null })
    .where(and(inArray(alerts.id, ids), eq(alerts.claimed_at, claimedAt)));

/** Stores why messages were not sent. They stay claimed, and are sent again when the claim ends. */
export const setError = (db: Database, ids: string[], error: string) =>
  db.update(alerts).set({ error }).where(inArray(alerts.id, ids));

const withSilencer = (db: Database) =>
  db
    .select({ ...getTableColumns(alerts), silencer: users.username })
    .from(alerts)
    .leftJoin(users, eq(users.id, alerts.silenced_by));

/** Lists the alerts that hold, and then the last ones that have ended; both newest first. */
export async function listShown(db: Database, now: number, limits: { ended: number }) {
  const [holding, ended] = await db.batch([
    withSilencer(db)
      .where(and(isNull(alerts.ended_at), lte(alerts.since, now - HOLD_MS)))
      .orderBy(desc(alerts.since), desc(alerts.id))
      .limit(MAX_RECENT),
    withSilencer(db)
      .where(isNotNull(alerts.ended_at))
      .orderBy(desc(alerts.ended_at), desc(alerts.id))
      .limit(limits.ended),
  ]);
  return [...holding, ...ended];
}

export const findAlert = (db: Database, id: string) =>
  withSilencer(db).where(eq(alerts.id, id)).get();
export type ShownAlert = NonNullable<Awaited<ReturnType<typeof findAlert>>>;

/** Silences an alert that holds, or ends its silence (null). @returns whether it holds */
export async function setSilence(
  db: Database,
  id: string,
  silence: Pick<AlertRow, "silenced_until" | "silenced_by">,
  entry: EntryRow,
): Promise<boolean> {
  const silencing = db
    .update(alerts)
    .set(silence)
    .where(and(eq(alerts.id, id), isNull(alerts.ended_at)))
    .returning({ id: alerts.id });
  return (await changeRecorded(db, silencing, entry)).length > 0;
}

/** Lists endpoints that the service has disabled since a time, the latest first. */
export const listDisabledSince = (db: Database, since: number) =>
  db
    .select({
      id: webhookEndpoints.id,
      url: webhookEndpoints.url,
      username: users.username,
      last_error: webhookEndpoints.last_error,
    })
    .from(webhookEndpoints)
    .innerJoin(users, eq(users.id, webhookEndpoints.user_id))
    .where(
      and(
        isNotNull(webhookEndpoints.notice),
        gt(webhookEndpoints.updated_at, since),
        eq(webhookEndpoints.enabled, false),
      ),
    )
    .orderBy(desc(webhookEndpoints.updated_at))
    .limit(MAX_SUBJECTS)
    .all();

const expiring = {
  id: tokens.id,
  name: tokens.name,
  username: users.username,
  created_at: tokens.created_at,
  expires_at: sql<number>`${tokens.expires_at}`,
};

/** Lists the service tokens of organizations, and the tokens of operators for the deployment, that expire. */
export async function listExpiring(
  db: Database,
  from: number,
  until: number,
): Promise<ExpiringToken[]> {
  // Tokens with a short life are many, and would take the places of the others.
  const isExpiring = and(
    gt(tokens.expires_at, from),
    lt(tokens.expires_at, until),
    sql`${tokens.expires_at} - ${tokens.created_at} >= ${MIN_LIFE_MS}`,
  );
  const isForOperators = sql`EXISTS (SELECT 1 FROM json_each(${tokens.scopes})
    WHERE value IN ${OPERATOR_SCOPES})`;
  const isOfOperator = sql`${tokens.user_id} IN
    (SELECT operators.id FROM users AS operators WHERE operators.operator_since IS NOT NULL)`;
  const [services, operators] = await db.batch([
    db
      .select(expiring)
      .from(tokens)
      .innerJoin(users, eq(users.id, tokens.user_id))
      .where(and(isNotNull(tokens.service_role), isExpiring))
      .limit(MAX_SUBJECTS),
    db
      .select(expiring)
      .from(tokens)
      .innerJoin(users, eq(users.id, tokens.user_id))
      .where(and(isOfOperator, isExpiring, isForOperators))
      .limit(MAX_SUBJECTS),
  ]);
  return [...services, ...operators];
}
