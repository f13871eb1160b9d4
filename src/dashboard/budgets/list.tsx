/** Budgets with a bar each: what is spent, reserved and left. */

import type { Budget, BudgetWindow } from "../../protocol/budget.ts";
import { amountOf } from "../../protocol/money.ts";
import { type BudgetManager, mayChange } from "../../services/accounts/budgets.ts";
import { Price, Time } from "../ui/parts.tsx";

const PER: Record<BudgetWindow, string> = {
  day: "per day",
  week: "per week",
  month: "per month",
  total: "in total",
};

const nanosOf = (text: string) => amountOf(text) ?? 0;

/** A figure of a budget, with the colour that it has in the bar. */
const Figure = ({ name, value, series }: { name: string; value: string; series?: number }) => (
  <span class="nowrap">
    {series !== undefined && (
      <svg class="swatch" aria-hidden="true">
        <rect fill={`var(--series-${series})`} width="100%" height="100%" />
      </svg>
    )}
    {name} <Price value={nanosOf(value)} />
  </span>
);

const SPENT = 0;
const RESERVED = 1;

function Bar({ budget }: { budget: Budget }) {
  const limit = nanosOf(budget.limit);
  const shareOf = (text: string) => (limit === 0 ? 100 : (nanosOf(text) / limit) * 100);
  const spent = Math.min(100, shareOf(budget.spent));
  const reserved = Math.min(100 - spent, shareOf(budget.reserved));
  return (
    <svg
      class="budget-bar"
      viewBox="0 0 100 1"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${Math.round(spent)} % spent, ${Math.round(reserved)} % reserved`}
    >
      <rect fill="var(--line)" width="100" height="1" />
      <rect fill={`var(--series-${SPENT})`} width={spent} height="1" />
      <rect fill={`var(--series-${RESERVED})`} x={spent} width={reserved} height="1" />
    </svg>
  );
}

export const BudgetBar = ({ budget }: { budget: Budget }) => (
  <div class="budget numbers">
    <div>
      <strong>
        <Price value={nanosOf(budget.limit)} />
      </strong>{" "}
      {PER[budget.window]} {budget.kind === "alert" && <span class="badge">alert only</span>}
    </div>
    <Bar budget={budget} />
    <div class="flow quiet small">
      <Figure name="Spent" value={budget.spent} series={SPENT} />
      <Figure name="Reserved" value={budget.reserved} series={RESERVED} />
      <Figure name="Left" value={budget.left} />
      {budget.resets_at !== null && (
        <span>
          Resets <Time at={budget.resets_at} />
        </span>
      )}
    </div>
  </div>
);

export const whoseOf = ({ member, token }: Budget): string =>
  member ?? (token === null ? "Account" : `Access token ${token}`);

interface ListProps {
  /** Undefined: the account did not answer. */
  budgets: Budget[] | undefined;
  manager: BudgetManager;
  /** The address of the pages of the budgets. */
  at?: string;
  /** Whether the list says whose they are. */
  named?: boolean;
}

export const BudgetList = ({
  budgets,
  manager,
  at = "/account/budgets",
  named = false,
}: ListProps) => {
  if (budgets === undefined)
    return <p class="hint">Budgets are unavailable right now. Reload to try again.</p>;
  if (budgets.length === 0) return null;
  return (
    <ul class="rows">
      {budgets.map((budget) => (
        <li>
          <div class="budget-row">
            {named && <bdi>{whoseOf(budget)}</bdi>}
            <BudgetBar budget={budget} />
          </div>
          {mayChange(manager, budget) ? (
            <a href={`${at}/${budget.id}`}>
              Change
              <span class="visually-hidden">{` the budget of ${whoseOf(budget)}`}</span>
            </a>
          ) : (
            <small>set by an {budget.set_by}</small>
          )}
        </li>
      ))}
    </ul>
  );
};
