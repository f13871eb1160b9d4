/**
 * Budgets of two accounts: the one of acme refuses nothing, that of zeta some predictions. The others have none:
 * their predictions take shorter code paths.
 */
import type { Client } from "../../../src/dev/client.ts";
import { budget, budgets } from "../../../src/protocol/budget.ts";
import { hardware } from "../../../src/protocol/hardware.ts";
import { amountOf } from "../../../src/protocol/money.ts";
import { userUsage } from "../../../src/protocol/user.ts";
import type { Bed } from "../bed.ts";
import { rowsOf } from "../evidence/list.ts";
import type { BudgetLook, Money } from "../history.ts";

export const LIMITS = { acme: "1000000", zeta: "8" } as const;
export type Budgeted = keyof typeof LIMITS;
export const BUDGETED = Object.keys(LIMITS).filter((name): name is Budgeted => name in LIMITS);

/** A thousandth of a unit for each second. */
const PRICE = "3.6";

export async function openBudgets({ operator, clients }: Bed, identifier: string): Promise<void> {
  const body = { name: identifier, price_per_hour: PRICE };
  await operator.call(hardware, "PUT", `/operator/hardware/${identifier}`, { body });
  for (const account of BUDGETED) {
    const body = { limit: LIMITS[account], window: "total" };
    await clients[account].call(budget, "POST", "/budgets", { body });
  }
}

const number = (text: string) => amountOf(text) ?? Number.NaN;

export async function lookAtBudgets(
  client: Client,
  account: Budgeted,
  signal?: AbortSignal,
): Promise<BudgetLook[]> {
  const options = signal ? { signal } : {};
  const { items } = await client.call(budgets, "GET", "/budgets", options);
  return items.map(({ limit, spent, reserved }) => ({
    account,
    limit: number(limit),
    spent: number(spent),
    reserved: number(reserved),
  }));
}

/** Returns what each account has spent, by its budget, its usage, and the costs of its predictions. */
export async function moneyOf({ clients }: Bed): Promise<Money[]> {
  const all = BUDGETED.map(async (account) => {
    const client = clients[account];
    const [look] = await lookAtBudgets(client, account);
    if (!look) throw new Error(`the budget of ${account} is gone`);
    const { month } = await client.call(userUsage, "GET", "/user/usage");
    const costs = (await rowsOf(client)).map(({ cost }) => number(cost?.amount ?? "0"));
    const cost = costs.reduce((sum, one) => sum + one, 0);
    return { ...look, usage: number(month.cost), cost, predictions: costs.length };
  });
  return Promise.all(all);
}
