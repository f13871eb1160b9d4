/** The section "Budgets" of a page, with a form for a new one. */
import type { Budget } from "../../protocol/budget.ts";
import type { BudgetManager } from "../../services/accounts/budgets.ts";
import { NewBudget, type Subject } from "./forms.tsx";
import { BudgetList } from "./list.tsx";

/**
 * @param subject whose budgets these are. Undefined: of the account with its members and tokens
 * @param at the address of the pages of budgets
 */
export const Budgets = ({
  manager,
  budgets,
  subject,
  at = "/account/budgets",
}: {
  manager: BudgetManager;
  /** Undefined: the account did not answer. */
  budgets: Budget[] | undefined;
  subject?: Subject;
  at?: string;
}) => (
  <section aria-labelledby="budgets">
    <h2 id="budgets">Budgets</h2>
    <p class="hint">
      Limits of what runs may cost. Windows begin at midnight UTC.{" "}
      <a href="/docs/costs#budgets">About budgets</a>
    </p>
    <BudgetList {...{ manager, budgets, at }} named={subject === undefined} />
    <details class="spaced">
      <summary>{titleOf(manager, subject)}</summary>
      <NewBudget {...(subject && { subject })} at={at} />
    </details>
  </section>
);

/** Members of an organization set only their own budgets. */
const titleOf = ({ member }: BudgetManager, subject: Subject | undefined): string => {
  if (subject) return "New budget";
  return member === "" ? "New budget for the account" : "New budget for yourself";
};
