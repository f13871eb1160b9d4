/** Usage of an account. */
import { lastDays, type UsageReport, usageReport } from "../../domain/accounts/usage.ts";
import { findMostUsed, listUsage } from "../../storage/accounts/usage.ts";
import type { Services } from "../services.ts";
import type { Caller } from "./caller.ts";

/** The chart has a color for each of these; all others share one. */
const NAMED_MODELS = 6;

/** @param days UTC days, including today */
export async function getOwnUsage(
  { db }: Services,
  { user_id }: Caller,
  days: 30 | 90,
): Promise<UsageReport> {
  const range = lastDays(days, Date.now());
  const [first = ""] = range;
  const named = await findMostUsed(db, user_id, first, NAMED_MODELS);
  const ids = named.map(({ model_id }) => model_id);
  return usageReport(range, named, await listUsage(db, user_id, first, ids));
}
