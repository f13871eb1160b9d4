/** Rows of usage, written into an account's object. */
import { env } from "cloudflare:workers";
import type { UsageCount } from "../../../src/domain/accounts/usage.ts";
import type { UsageRow } from "../../../src/objects/stubs/account.ts";
import { openAccount } from "../../../src/services/access/accounts.ts";
import { getServices } from "../../../src/services/services.ts";
import { inAccount } from "./objects.ts";

export const NO_COUNTS: UsageCount = {
  predictions: 0,
  failed: 0,
  execution_ms: 0,
  setup_ms: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  images: 0,
  cost: 0,
};

export const NO_USAGE: Omit<UsageRow, "day"> = {
  model_id: "m",
  model: "ada/story",
  version_number: 1,
  token_id: "",
  token: "",
  maker: "",
  member: "",
  hardware: "cpu",
  deployment_id: "",
  release: 0,
  deployment: "",
  ...NO_COUNTS,
};

export async function addUsage(
  userId: string,
  day: string,
  changes: Partial<UsageRow & { measures: string }>,
): Promise<void> {
  await openAccount(getServices(env), userId);
  const row = { day, ...NO_USAGE, ...changes };
  const names = Object.keys(row);
  const statement = `INSERT INTO usage (${names}) VALUES (${names.map(() => "?")})`;
  await inAccount(userId, statement, ...Object.values(row));
}

export const count = async (
  userId: string,
  day: string,
  model: string,
  predictions: number,
  failed = 0,
  changes: Partial<UsageRow> = {},
) =>
  addUsage(userId, day, {
    ...{ model_id: model, model, predictions, failed, execution_ms: 90_000, ...changes },
  });

export const daysAgo = (days: number) =>
  new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
