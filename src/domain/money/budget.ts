/** The rules of budgets: windows, and which budget counts which run. Amounts are billionths, times Unix ms. */
import type { BudgetFacts, BudgetKind, BudgetLevel, BudgetWindow } from "../../protocol/budget.ts";
import { amountText } from "../../protocol/money.ts";
import type { BudgetEventName } from "../../protocol/webhook.ts";

const DAY_MS = 86_400_000;
/** Day 0 of Unix time was a Thursday; the Monday before it was this many days earlier. */
const MONDAY_DAYS = 3;

/** Returns when the window that contains this time began; 0 for a window without an end. */
export function windowStart(window: BudgetWindow, at: number): number {
  const day = Math.floor(at / DAY_MS);
  switch (window) {
    case "day":
      return day * DAY_MS;
    case "week":
      return (day - ((day + MONDAY_DAYS) % 7)) * DAY_MS;
    case "month": {
      const date = new Date(at);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
    }
    case "total":
      return 0;
  }
}

/** Returns when the window that began at `start` ends; null: never. */
export function windowEnd(window: BudgetWindow, start: number): number | null {
  switch (window) {
    case "day":
      return start + DAY_MS;
    case "week":
      return start + 7 * DAY_MS;
    case "month": {
      const date = new Date(start);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
    }
    case "total":
      return null;
  }
}

export interface BudgetRow {
  id: string;
  /** Empty: the account. Otherwise `member:ID`, `token:ID`, or `client:ID` of a client token. */
  subject: string;
  /** `runs`: the limit is a number of runs, as client tokens have. */
  unit: "amount" | "runs";
  most: number;
  window: BudgetWindow;
  kind: BudgetKind;
  level: BudgetLevel;
  alert_at: number;
  created_at: number;
  updated_at: number;
}

/** A budget with what counts in its present window. */
export interface BudgetState extends BudgetRow {
  window_start: number;
  spent: number;
  reserved: number;
  /** The ids of the predictions whose end has crossed these lines in the window; empty: none has. */
  alerted_by: string;
  exhausted_by: string;
}

/** A line that the end of a prediction has crossed. */
export interface Crossing {
  event: BudgetEventName;
  budget: BudgetState;
}

/** Returns whose budget a row is. */
export function budgetSubjectOf(budget: Pick<BudgetRow, "subject">) {
  const [, of = null] = budget.subject.split(":", 2);
  const scope = scopeOf(budget);
  return {
    scope,
    token_id: scope === "token" ? of : null,
    member_id: scope === "member" ? of : null,
  };
}

/** Returns a budget as its events have it. */
export function budgetFactsOf(budget: BudgetState, currency: string): BudgetFacts {
  const { id, most, window, window_start, kind, spent, reserved } = budget;
  const end = windowEnd(window, window_start);
  return {
    id,
    ...budgetSubjectOf(budget),
    limit: amountText(most),
    currency,
    ...{ window, kind },
    spent: amountText(spent),
    reserved: amountText(reserved),
    left: amountText(leftOf(budget)),
    resets_at: end === null ? null : new Date(end).toISOString(),
  };
}

export const memberSubject = (id: string) => `member:${id}`;
export const clientSubject = (id: string) => `client:${id}`;
export const tokenSubject = (id: string) => `token:${id}`;

/** `scopeOf` returns whose budget a row is. The limits of a client token are never presented as a budget. */
export const scopeOf = ({ subject }: Pick<BudgetRow, "subject">): BudgetFacts["scope"] => {
  if (subject === "") return "account";
  return subject.startsWith(memberSubject("")) ? "member" : "token";
};

/** A token, a member and a client token that run a prediction. Each is empty where there is none. */
export interface Spender {
  token_id: string;
  maker: string;
  client_id: string;
}

/** The subjects whose budgets count a run, the narrowest first. */
export const subjectsOf = ({ token_id, maker, client_id }: Spender): string[] => [
  ...(client_id === "" ? [] : [clientSubject(client_id)]),
  ...(token_id === "" ? [] : [tokenSubject(token_id)]),
  ...(maker === "" ? [] : [memberSubject(maker)]),
  "",
];

export const unitsOf = ({ unit }: Pick<BudgetRow, "unit">, amount: number) =>
  unit === "runs" ? 1 : amount;

export const leftOf = ({
  most,
  spent,
  reserved,
}: Pick<BudgetState, "most" | "spent" | "reserved">) => Math.max(0, most - spent - reserved);

/** Why a prediction is not admitted: a hard budget would be exceeded, or as many of the token's run as may. */
export type Refused =
  | { running: number }
  | { budget: BudgetState; needed: number; resets_at: number | null };
