/** Usage grouped as a caller asks for it, as JSON and as CSV. */
import { z } from "zod";
import { onlyMaker } from "../../domain/accounts/access.ts";
import { type GroupedUsage, sumUsage } from "../../domain/accounts/usage.ts";
import { invalid } from "../../domain/schemas/validation.ts";
import { csvLine } from "../../lib/text.ts";
import {
  USAGE_GROUPS,
  type Usage,
  type UsageGroup,
  type UsageQuery,
  usageSums,
} from "../../protocol/usage.ts";
import { type Caller, requireAccountAccess } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import type { Services } from "../services.ts";
import { sumsOf } from "./usage.ts";

const DAY_MS = 86_400_000;

/** The most days of a report: more than the history has, unless HISTORY_DAYS is set. */
export const MAX_DAYS = 400;

/** The most rows of a report: some 3 MB of JSON. */
export const MAX_GROUPS = 10_000;

/** The days of a report, both included. @throws ValidationFailure */
export function daysOf(
  { from, to }: Pick<UsageQuery, "from" | "to">,
  now: number,
): { from: string; to: string } {
  const today = new Date(now).toISOString().slice(0, 10);
  const last = to ?? (from !== undefined && from > today ? from : today);
  const first = from ?? `${last.slice(0, 8)}01`;
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;
  if (days < 1) throw invalid(["query", "to"], "'to' should not be before 'from'");
  if (days > MAX_DAYS)
    throw invalid(["query", "from"], `A report has at most ${MAX_DAYS} days, not ${days}`);
  return { from: first, to: last };
}

/** @throws ValidationFailure if there are more than a report can have */
export function checkGroups(groups: unknown[]): void {
  if (groups.length > MAX_GROUPS)
    throw invalid(
      ["query", "group_by"],
      `More than ${MAX_GROUPS.toLocaleString("en")} rows. Choose fewer days, or group by less`,
    );
}

/**
 * Returns the usage of the caller's account. A member of an organization gets their own, and a developer all of it.
 * @throws ProblemError forbidden; ValidationFailure
 */
export async function getUsage(
  services: Services,
  caller: Caller,
  { group_by, ...query }: UsageQuery,
): Promise<Usage> {
  await requireAccountAccess(services, caller, "The usage of the account", "member");
  const asked = group_by.split(",");
  const by = USAGE_GROUPS.filter((name) => asked.includes(name));
  const days = { ...daysOf(query, Date.now()), maker: onlyMaker(caller) };
  const account = await findAccount(services, caller.user_id);
  const groups = (await account?.usageBy({ ...days, groups: by, limit: MAX_GROUPS + 1 })) ?? [];
  checkGroups(groups);
  return {
    from: days.from,
    to: days.to,
    group_by: by,
    currency: services.settings.currency,
    total: sumsOf(sumUsage(groups)),
    groups: groups.map((group) => ({ ...placeOf(group), ...sumsOf(group) })),
  };
}

/** Names the group. A field is undefined where the usage is not grouped by it. */
const placeOf = ({ maker, member, token_id, token, ...group }: GroupedUsage) => ({
  day: group.day,
  month: group.month,
  model_id: group.model_id,
  model: group.model,
  version_number: group.version_number,
  member_id: orNull(maker),
  member: orNull(member),
  token_id: orNull(token_id),
  token: orNull(token),
  hardware: group.hardware,
});

const orNull = (text: string | undefined) => (text === "" ? null : text);

const COLUMNS = {
  day: ["day"],
  month: ["month"],
  model: ["model_id", "model"],
  version: ["model_id", "model", "version_number"],
  member: ["member_id", "member"],
  token: ["token_id", "token"],
  hardware: ["hardware"],
} as const satisfies Record<UsageGroup, (keyof Usage["groups"][number])[]>;

const sums = z.object(usageSums);

export const sumValues = (group: z.infer<typeof sums>) => Object.values(sums.parse(group));

export function usageCsv({ group_by, groups, currency }: Usage): string {
  const names = [...new Set(group_by.flatMap((name) => COLUMNS[name]))];
  const lines = groups.map((group) =>
    csvLine([...names.map((name) => group[name] ?? ""), ...sumValues(group), currency]),
  );
  return [csvLine([...names, ...Object.keys(sums.shape), "currency"]), ...lines].join("");
}
