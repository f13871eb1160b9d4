/** Usage of an account. */
import { lastDays, type UsageReport, usageReport } from "../../domain/accounts/usage.ts";
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
