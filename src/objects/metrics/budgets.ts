/** The hard budgets of accounts, by the names that accounts have in D1. */
import type { BudgetGauge } from "../../domain/metrics/gauges.ts";
import type { Levels } from "../../domain/metrics/levels.ts";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import { findUsernames } from "../../storage/accounts/users.ts";
import { database } from "../../storage/database.ts";

/** Budgets in an exposition. */
const MAX_BUDGETS = 1_000;

/** Returns the first budgets. Without D1, an exposition only has none. */
export async function readBudgets({ DB }: Bindings, watched: Levels[]): Promise<BudgetGauge[]> {
  const accounts = watched.filter(({ budgets }) => budgets.length > 0);
  const ids = accounts.map(({ user_id }) => user_id);
  const names = await findUsernames(database(DB), ids).catch((error) => {
    logger.warn("Accounts not named for metrics", { error });
    return new Map<string, string>();
  });
  return accounts
    .flatMap(({ user_id, budgets }) => {
      const account = names.get(user_id);
      return account === undefined ? [] : budgets.map((budget) => ({ account, budget }));
    })
    .slice(0, MAX_BUDGETS);
}
