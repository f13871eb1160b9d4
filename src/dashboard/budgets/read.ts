/** The budgets that a page of an account shows. */
import type { Budget } from "../../protocol/budget.ts";
import { type BudgetManager, listBudgets, readerOf } from "../../services/accounts/budgets.ts";
import { unlessSilent } from "../../services/accounts/person-view.ts";
import { viewerOf } from "../access.ts";
import type { PageContext } from "../context.ts";

export interface ShownBudgets {
  manager: BudgetManager;
  /** Undefined: the account did not answer, and the page has to work without it. */
  budgets: Budget[] | undefined;
}

export async function readBudgets(c: PageContext): Promise<ShownBudgets> {
  const { services } = c.var;
  const manager = await readerOf(services, viewerOf(c).caller);
  const budgets = await unlessSilent(manager.account_id, listBudgets(services, manager));
  return { manager, budgets };
}

export const ofMember = ({ manager, budgets }: ShownBudgets, username: string): ShownBudgets => ({
  manager,
  budgets: budgets?.filter(({ member }) => member === username),
});

export const ofToken = ({ manager, budgets }: ShownBudgets, id: string): ShownBudgets => ({
  manager,
  budgets: budgets?.filter(({ token_id }) => token_id === id),
});
