import { onlyMaker } from "../../domain/accounts/access.ts";
import {
  daysOfMonth,
  type GroupedUsage,
  monthOf,
  tokenName,
  USAGE_KEY,
  type UsageCount,
  type UsageReport,
  type UsageSelection,
  usageReport,
} from "../../domain/accounts/usage.ts";
import { PART_BYTES } from "../../domain/registry/chunk.ts";
import { csvLine } from "../../lib/text.ts";
import type { UsageRow } from "../../objects/stubs/account.ts";
import { amountText } from "../../protocol/money.ts";
import { usageSums } from "../../protocol/usage.ts";
import type { UserStorage, UserUsage } from "../../protocol/user.ts";
import { findFileBytes } from "../../storage/files/uploads.ts";
import { findImageBytes } from "../../storage/registry/blobs.ts";
import { isAnyPriced } from "../../storage/runners/hardware.ts";
import { type Caller, requireAccountAccess } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import { pagesOf } from "../pagination.ts";
import type { Services } from "../services.ts";

/** Models with a color of their own in the chart; all others share one. */
const NAMED_MODELS = 6;

const NONE = { models: [], rows: [], trimmed_to: null };

/** @param days UTC days without a gap, oldest first */
export async function getOwnUsage(
  services: Services,
  caller: Pick<Caller, "user_id" | "maker" | "role">,
  days: string[],
): Promise<UsageReport> {
  const account = await findAccount(services, caller.user_id);
  const counted = await account?.usage(
    { ...rangeOf(days), maker: onlyMaker(caller) },
    NAMED_MODELS,
  );
  return usageReport(days, counted ?? NONE);
}

/** @param selection UTC days, oldest first, and what they are grouped by */
export async function getGroups(
  services: Services,
  caller: Caller,
  { days, groups, limit }: Pick<UsageSelection, "groups" | "limit"> & { days: string[] },
): Promise<GroupedUsage[]> {
  const account = await findAccount(services, caller.user_id);
  const selection = { ...rangeOf(days), maker: onlyMaker(caller), groups, limit };
  return (await account?.usageBy(selection)) ?? [];
}

export const rangeOf = (days: string[]) => ({ from: days.at(0) ?? "", to: days.at(-1) ?? "" });

/** Models of the current month that the API lists; all others are one row. */
const MONTH_MODELS = 50;

/**
 * Returns the usage of the current month by model, and the caller's storage.
 * @throws ProblemError forbidden
 */
export async function getOwnMonth(services: Services, caller: Caller): Promise<UserUsage> {
  await requireAccountAccess(services, caller, "The usage of the account", "developer");
  const now = Date.now();
  const days = daysOfMonth(monthOf(now), now);
  const { from: since } = rangeOf(days);
  const [storage, account] = await Promise.all([
    getOwnStorage(services, caller),
    findAccount(services, caller.user_id),
  ]);
  const counted = (await account?.usage(rangeOf(days), MONTH_MODELS)) ?? NONE;
  const { total, models } = usageReport(days, counted);
  const { currency } = services.settings;
  const month = {
    since,
    currency,
    ...runsOf(total),
    models: models.map(({ model = null, ...count }) => ({ model, ...runsOf(count) })),
  };
  return { month, ...storage };
}

const runsOf = ({ predictions, failed, execution_ms, cost }: UsageCount) => ({
  predictions,
  failed,
  execution_seconds: execution_ms / 1_000,
  cost: amountText(cost),
});

/** Rows of a page; one page is in memory at a time. */
const ROWS = 500;

/** Yields all rows of usage, a page at a time. @param from the first day */
export async function* usagePages(
  services: Services,
  { user_id }: Pick<Caller, "user_id">,
  from = "",
): AsyncGenerator<UsageRow[]> {
  const account = await findAccount(services, user_id);
  if (!account) return;
  yield* pagesOf(
    ROWS,
    (keyset) => account.usagePage(keyset),
    (row) => USAGE_KEY.map((name) => row[name]),
    { key: [from, "", 0, "", "", "", "", 0], inclusive: true },
  );
}

const COLUMNS = [
  ...["day", "model", "version", "member", "token", "token_id", "hardware"],
  ...["deployment", "release"],
];

/**
 * Yields the usage as CSV: a line for each day, version, member, token, hardware and release of a deployment, without
 * those that were not used.
 * @throws the errors of D1 or of the account's object, in the middle of it
 */
export async function* ownUsageCsv(
  services: Services,
  caller: Caller,
  days: string[],
): AsyncGenerator<string> {
  const { currency } = services.settings;
  yield csvLine([...COLUMNS, ...Object.keys(usageSums), "currency"]);
  const { from, to } = rangeOf(days);
  const only = onlyMaker(caller);
  for await (const rows of usagePages(services, caller, from))
    yield rows
      .filter(({ day, maker }) => day <= to && (only === undefined || maker === only))
      .map((row) => {
        const { day, model, version_number, member, token_id, hardware } = row;
        const place = [day, model, version_number, member, tokenName(row), token_id, hardware];
        const called = row.deployment_id === "" ? ["", ""] : [row.deployment, row.release];
        return csvLine([...place, ...called, ...Object.values(sumsOf(row)), currency]);
      })
      .join("");
}

/** Presents sums, in the order of `usageSums`. */
export const sumsOf = (count: UsageCount) => ({
  predictions: count.predictions,
  failed: count.failed,
  execution_seconds: count.execution_ms / 1_000,
  setup_seconds: count.setup_ms / 1_000,
  input_tokens: count.input_tokens,
  output_tokens: count.output_tokens,
  cached_tokens: count.cached_tokens,
  images: count.images,
  cost: amountText(count.cost),
});

/** Whether usage can have a cost. */
export const isHardwarePriced = ({ db }: Services) => isAnyPriced(db);

/** Returns the storage that the caller's account uses, and its limits. */
export async function getOwnStorage(
  services: Services,
  { user_id }: Pick<Caller, "user_id">,
): Promise<UserStorage> {
  const { db, settings } = services;
  const [{ stored, arriving, database }, uploads, account] = await Promise.all([
    findImageBytes(db, user_id, PART_BYTES),
    findFileBytes(db, user_id),
    findAccount(services, user_id),
  ]);
  const files = (await account?.fileBytes()) ?? 0;
  return {
    files: { bytes: uploads + files, max_bytes: settings.fileBytes },
    images: { bytes: stored + arriving, max_bytes: settings.imageBytes },
    database: { bytes: database, max_bytes: settings.accountBytes },
  };
}
