/** The alerts that everybody may know of. */
import { and, desc, eq, gt, inArray, isNull, lte } from "drizzle-orm";
import { type IncidentRow, PUBLIC_RULES } from "../../domain/alerts/incidents.ts";
import { HISTORY_MS, HOLD_MS } from "../../domain/alerts/life.ts";
import type { Database } from "../database.ts";
import { alerts } from "../schema/index.ts";

const MAX_ENDED = 1_000;

const { rule, subject, since, ended_at } = alerts;

/** Lists the critical alerts that hold, and the last 1,000 that ended within 90 days. */
export async function listIncidents(db: Database, now: number): Promise<IncidentRow[]> {
  const isPublic = and(eq(alerts.level, "bad"), inArray(rule, PUBLIC_RULES));
  const rows = () => db.select({ rule, subject, since, ended_at }).from(alerts);
  const [holding, ended] = await db.batch([
    rows().where(and(isNull(ended_at), lte(since, now - HOLD_MS), isPublic)),
    rows()
      .where(and(gt(ended_at, now - HISTORY_MS), isPublic))
      .orderBy(desc(ended_at), desc(alerts.id))
      .limit(MAX_ENDED),
  ]);
  return [...holding, ...ended];
}
