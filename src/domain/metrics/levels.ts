/** Levels are what operators watch of an account: what its hard budgets have left, and how full its history is. */
import { z } from "zod";
import { BUDGET_WINDOWS } from "../../protocol/budget.ts";
import { type BudgetState, leftOf, scopeOf, windowEnd } from "../money/budget.ts";

const budgetLevel = z.object({
  id: z.string(),
  scope: z.enum(["account", "member", "token"]),
  window: z.enum(BUDGET_WINDOWS),
  /** Amounts are in billionths of the currency unit. */
  most: z.number(),
  left: z.number(),
  /** Less is left than another run needs. */
  is_exhausted: z.boolean(),
  /** Unix ms. */
  resets_at: z.number().nullable(),
  by_operator: z.boolean(),
});

export const levels = z.object({
  user_id: z.string(),
  /** The percentage of HISTORY_GB in use; null: not yet most of it. */
  history_percent: z.number().nullable(),
  budgets: z.array(budgetLevel),
});
export type Levels = z.infer<typeof levels>;

/** Budgets of an account that have levels: those of operators before others, those of the account before others. */
const MAX_BUDGETS = 20;
/** The percentage of its history's space from which an account is watched. */
const NEARLY_FULL = 90;

/** Returns the levels of an account; null if it has none. */
export function levelsOf(
  user_id: string,
  budgets: BudgetState[],
  history: { bytes: number; max_bytes: number },
): Levels | null {
  const percent = Math.floor((history.bytes / history.max_bytes) * 100);
  const history_percent = percent >= NEARLY_FULL ? Math.min(percent, 100) : null;
  const rank = (budget: BudgetState) =>
    2 * Number(budget.level !== "operator") + Number(budget.subject !== "");
  const watched = budgets
    .filter(({ kind, unit }) => kind === "hard" && unit === "amount")
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, MAX_BUDGETS);
  if (history_percent === null && watched.length === 0) return null;
  return {
    user_id,
    history_percent,
    budgets: watched.map((budget) => ({
      id: budget.id,
      scope: scopeOf(budget),
      window: budget.window,
      most: budget.most,
      left: leftOf(budget),
      is_exhausted: budget.exhausted_by !== "",
      resets_at: windowEnd(budget.window, budget.window_start),
      by_operator: budget.level === "operator",
    })),
  };
}

/** Whether levels come before those that people can make without an operator. */
export const isImportant = ({ history_percent, budgets }: Levels): boolean =>
  history_percent !== null || budgets.some(({ by_operator }) => by_operator);

/** Returns levels as of now: an account that runs nothing does not say that a window has ended. */
export const levelsAt = (all: Levels, now: number): Levels => ({
  ...all,
  budgets: all.budgets.map((one) =>
    one.resets_at !== null && one.resets_at <= now
      ? { ...one, left: one.most, is_exhausted: false }
      : one,
  ),
});
