/** Usage of an account. */
import { lastDays, type UsageReport, usageReport } from "../../domain/accounts/usage.ts";
import { PART_BYTES } from "../../domain/registry/chunk.ts";
import type { UserUsage } from "../../protocol/user.ts";
import { findImageBytes } from "../../storage/registry/bytes.ts";
import type { Services } from "../services.ts";
import { findAccount } from "./account-object.ts";
import type { Caller } from "./caller.ts";

/** The chart has a color for each of these; all others share one. */
const NAMED_MODELS = 6;

const NONE = { models: [], rows: [], trimmed_to: null };

/** @param days UTC days, including today */
export async function getOwnUsage(
  services: Services,
  { user_id }: Caller,
  days: 30 | 90,
): Promise<UsageReport> {
  const range = lastDays(days, Date.now());
  const [first = ""] = range;
  const account = await findAccount(services, user_id);
  const { models, rows, trimmed_to } = (await account?.usage(first, NAMED_MODELS)) ?? NONE;
  return usageReport(range, models, rows, trimmed_to);
}

/** What the caller's account has stored, and how much it may have. */
export async function getOwnStorage(
  { db, settings }: Services,
  { user_id }: Caller,
): Promise<UserUsage> {
  const { stored, arriving, database } = await findImageBytes(db, user_id, PART_BYTES);
  return {
    images: { bytes: stored + arriving, max_bytes: settings.imageBytes },
    database: { bytes: database, max_bytes: settings.accountBytes },
  };
}
