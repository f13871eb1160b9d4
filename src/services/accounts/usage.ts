import {
  daysOfMonth,
  monthOf,
  tokenName,
  type UsageCount,
  type UsageReport,
  usageReport,
} from "../../domain/accounts/usage.ts";
import { PART_BYTES } from "../../domain/registry/chunk.ts";
import { csvLine } from "../../lib/text.ts";
import { amountText } from "../../protocol/money.ts";
import type { UserStorage, UserUsage } from "../../protocol/user.ts";
import { listTokens } from "../../storage/accounts/tokens.ts";
import { findFileBytes } from "../../storage/files/uploads.ts";
import { findImageBytes } from "../../storage/registry/blobs.ts";
import { isAnyPriced } from "../../storage/runners/hardware.ts";
import { type Caller, requireAccountAccess } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import { pagesOf } from "../pagination.ts";
import type { Services } from "../services.ts";

/** Models with a color of their own in the chart; all others share one. */
const NAMED_MODELS = 6;

/** The tokens that are listed, those most used. An account may have 100 at once, and more over time. */
const LISTED_TOKENS = 20;

const NONE = { models: [], rows: [], tokens: [], trimmed_to: null };

/** @param days UTC days without a gap, oldest first */
export async function getOwnUsage(
  services: Services,
  { user_id }: Pick<Caller, "user_id">,
  days: string[],
): Promise<UsageReport> {
  const account = await findAccount(services, user_id);
  const counted = await account?.usage(rangeOf(days), NAMED_MODELS, LISTED_TOKENS);
  return usageReport(days, counted ?? NONE);
}

const rangeOf = (days: string[]) => ({ from: days.at(0) ?? "", to: days.at(-1) ?? "" });

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
  const counted = (await account?.usage(rangeOf(days), MONTH_MODELS, 0)) ?? NONE;
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

/** The newest tokens whose names are looked up; an account has at most 100 that have not expired. */
const NAMES = 1_000;

/** Rows of a page; one page is in memory at a time. */
const ROWS = 500;

const COLUMNS = [
  "day",
  "model",
  "token",
  "token_id",
  "predictions",
  "failed",
  "execution_seconds",
  "cost",
  "currency",
];

/**
 * Yields the usage as CSV: a line for each day, model and access token, without those that were not used.
 * @throws the errors of D1 or of the account's object, in the middle of it
 */
export async function* ownUsageCsv(
  services: Services,
  { user_id }: Caller,
  days: string[],
): AsyncGenerator<string> {
  yield csvLine(COLUMNS);
  const account = await findAccount(services, user_id);
  if (!account) return;
  const names = await tokenNames(services.db, user_id);
  const { from, to } = rangeOf(days);
  const pages = pagesOf(
    ROWS,
    (keyset) => account.usagePage(keyset),
    ({ day, model_id, token_id }) => [day, model_id, token_id],
    { key: [from, "", ""], inclusive: true },
  );
  for await (const rows of pages)
    yield rows
      .filter(({ day }) => day <= to)
      .map(({ day, model, token_id, predictions, failed, execution_ms, cost }) => {
        const token = tokenName(names, token_id);
        return csvLine([
          day,
          model,
          token,
          token_id,
          predictions,
          failed,
          execution_ms / 1_000,
          amountText(cost),
          services.settings.currency,
        ]);
      })
      .join("");
}

/** Whether usage can have a cost. */
export const isHardwarePriced = ({ db }: Services) => isAnyPriced(db);

export const getOwnTokenNames = ({ db }: Services, { user_id }: Caller) => tokenNames(db, user_id);

async function tokenNames(db: Services["db"], userId: string): Promise<Map<string, string>> {
  const rows = await listTokens(db, userId, { from: undefined, back: false, limit: NAMES });
  return new Map(rows.map(({ id, name }) => [id, name]));
}

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
