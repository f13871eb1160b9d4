/** The usage of all accounts, for operators, as the objects of accounts report it. */
import { lastDays, sumUsage } from "../../domain/accounts/usage.ts";
import { csvLine } from "../../lib/text.ts";
import type { UsageMessage } from "../../protocol/queue.ts";
import {
  DEPLOYMENT_GROUPS,
  type DeploymentGroup,
  type DeploymentUsage,
  type DeploymentUsageQuery,
  usageSums,
} from "../../protocol/usage.ts";
import { deleteUsageBefore, sumUsageBy, writeUsage } from "../../storage/accounts/account-usage.ts";
import type { Services } from "../services.ts";
import { rangeOf, sumsOf } from "./usage.ts";
import { checkGroups, daysOf, MAX_GROUPS, sumValues } from "./usage-groups.ts";

/** @throws ValidationFailure */
export async function getDeploymentUsage(
  { db, settings }: Services,
  { group_by, ...query }: DeploymentUsageQuery,
): Promise<DeploymentUsage> {
  const asked = group_by.split(",");
  const by = DEPLOYMENT_GROUPS.filter((name) => asked.includes(name));
  const { from, to } = daysOf(query, Date.now());
  const groups = await sumUsageBy(db, { from, to }, by, MAX_GROUPS + 1);
  checkGroups(groups);
  return {
    ...{ from, to, group_by: by, currency: settings.currency },
    total: sumsOf(sumUsage(groups)),
    groups: groups.map(({ day, month, account_id, account, ...sums }) => ({
      ...{ day, month, account_id, account },
      ...sumsOf(sums),
    })),
  };
}

/**
 * Returns groups for a page, and the sums of all of them.
 * @param days UTC days without a gap, oldest first
 */
export async function getDeploymentGroups(
  { db }: Services,
  days: string[],
  { by, limit }: { by: DeploymentGroup; limit: number },
) {
  const range = rangeOf(days);
  const [groups, months] = await Promise.all([
    sumUsageBy(db, range, [by], limit),
    sumUsageBy(db, range, ["month"], MAX_GROUPS),
  ]);
  return { groups, total: sumUsage(months) };
}

const COLUMNS = {
  day: ["day"],
  month: ["month"],
  account: ["account_id", "account"],
} as const satisfies Record<DeploymentGroup, (keyof DeploymentUsage["groups"][number])[]>;

export function deploymentCsv({ group_by, groups, currency }: DeploymentUsage): string {
  const names = group_by.flatMap((name) => [...COLUMNS[name]]);
  const lines = groups.map((group) =>
    csvLine([...names.map((name) => group[name] ?? ""), ...sumValues(group), currency]),
  );
  return [csvLine([...names, ...Object.keys(usageSums), "currency"]), ...lines].join("");
}

export const saveUsage = ({ db }: Services, messages: UsageMessage[]) => writeUsage(db, messages);

const DAY_SECONDS = 86_400;

/** Days that usage is kept, with one to spare. */
export const keptDays = ({ settings }: Pick<Services, "settings">): number =>
  Math.ceil(settings.historySeconds / DAY_SECONDS) + 1;

/** Deletes what is older than the usage of accounts. */
export async function sweepUsage(services: Services, now: number): Promise<void> {
  const [first = ""] = lastDays(keptDays(services), now);
  await deleteUsageBefore(services.db, first);
}
