/** Reservations that predictions ask of their account before they begin, and the text of a refusal. */
import { START_CHECK } from "../../domain/accounts/usage.ts";
import {
  type BudgetRow,
  clientSubject,
  leftOf,
  type Refused,
  type Spender,
  scopeOf,
  subjectsOf,
  tokenSubject,
} from "../../domain/money/budget.ts";
import type { Priced } from "../../domain/money/cost.ts";
import { type Reservation, reservationOf } from "../../domain/money/reservation.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { BudgetLevel, BudgetWindow } from "../../protocol/budget.ts";
import { amountText } from "../../protocol/money.ts";
import type { CreatePredictionOfVersion } from "../../protocol/prediction.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { getAccountFacts } from "../../storage/webhooks/account-facts.ts";
import type { Caller } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import type { Services } from "../services.ts";

const TIMEOUT_SECONDS = 1_800;

type TimedVersion = Pick<VersionRow, "configuration">;

export const timeLimits = ({ settings }: Services, { configuration }: TimedVersion) => ({
  timeout_seconds: configuration.timeout_seconds ?? TIMEOUT_SECONDS,
  setup_timeout_seconds: settings.setupTimeoutSeconds,
});

/**
 * Names the maker of a prediction. A start check is not listed as that of its token, unless the token is limited: it
 * could otherwise spend more than it may.
 * @param budgeted the subjects of the account to which hard budgets apply
 */
export function makerOf(
  caller: Caller,
  { start_check }: Pick<CreatePredictionOfVersion, "start_check">,
  budgeted: string[],
) {
  const { maker, client_id = "", limits } = caller;
  const token = tokenOf(caller);
  const isLimited =
    budgeted.includes(tokenSubject(token.token_id)) || limits?.max_running !== undefined;
  if (!start_check) return { maker, client_id, ...token };
  const { token_name } = START_CHECK;
  return { maker, client_id, ...(isLimited ? { ...token, token_name } : START_CHECK) };
}

const tokenOf = ({ is_session, token_id, token_name = "" }: Caller) =>
  is_session ? { token_id: "", token_name: "" } : { token_id, token_name };

/**
 * @param budgeted the subjects of the account to which hard budgets apply
 * @returns null: nothing limits the prediction
 */
export function reservationFor(
  { limits, client_limits: client }: Caller,
  spender: Spender,
  budgeted: string[],
  priced: Parameters<typeof reservationOf>[0],
): Reservation | null {
  const isBudgeted = subjectsOf(spender).some((subject) => budgeted.includes(subject));
  const maxRunning = limits?.max_running ?? null;
  if (!isBudgeted && maxRunning === null && !client) return null;
  return { ...reservationOf(priced, maxRunning), ...(client && { client }) };
}

/** Returns why a create would be refused now, as it would say it. Undefined: it would be admitted. */
export async function findRefusal(
  services: Services,
  caller: Caller,
  request: Pick<CreatePredictionOfVersion, "start_check">,
  version: TimedVersion & Pick<VersionRow, "model_id" | "number">,
  priced: Priced,
): Promise<ProblemError | undefined> {
  const { budgeted } = await getAccountFacts(services.db, caller.user_id);
  const { token_id, maker, client_id } = makerOf(caller, request, budgeted);
  const spender = { token_id, maker, client_id };
  const limited = { ...priced, ...timeLimits(services, version) };
  const reservation = reservationFor(caller, spender, budgeted, limited);
  const account = reservation && (await findAccount(services, caller.user_id));
  if (!account) return undefined;
  const { model_id, number } = version;
  const refused = await account.wouldAdmit(reservation, spender, model_id, number);
  return refused && refusedProblem(refused, services.settings.currency, spender);
}

/** Says which limit refuses a prediction, what is left of it, when it resets, and who can raise it. */
export function refusedProblem(
  refused: Refused,
  currency: string,
  { client_id }: Pick<Spender, "client_id">,
): ProblemError {
  if ("running" in refused) {
    const detail = `This access token allows ${refused.running} predictions at a time, and as many run or wait. Wait for one to end.`;
    return new ProblemError("too_many_requests", detail, { "retry-after": "10" });
  }
  const { budget, needed, resets_at } = refused;
  if (client_id !== "" && budget.subject !== clientSubject(client_id))
    return new ProblemError(
      "budget_exhausted",
      "A budget of the account that issued this client token does not allow this prediction.",
    );
  const help = client_id === "" ? `${WHO[budget.level]} can raise it.` : "Request another token.";
  if (budget.unit === "runs")
    return new ProblemError(
      "budget_exhausted",
      `This client token allows ${budget.most} predictions, and all are used. ${help}`,
    );
  const which = `The budget of ${whoseOf(budget)}`;
  if (budget.most === 0)
    return new ProblemError(
      "budget_exhausted",
      `${which} is set to 0, which refuses all predictions that can cost something. ${help}`,
    );
  const amount = (value: number) => `${amountText(value)} ${currency}`;
  const reserved =
    budget.reserved > 0
      ? ` (${amount(budget.reserved)} is reserved for runs that have not ended)`
      : "";
  // No end of another run and no new window admits it.
  const excess =
    needed > budget.most
      ? ", which is more than the whole budget: see /docs/costs#what-is-reserved"
      : "";
  const left = `${amount(leftOf(budget))} of ${amount(budget.most)} ${PER[budget.window]} is left${reserved}`;
  const reset =
    resets_at === null
      ? "The budget does not reset."
      : `It resets at ${new Date(resets_at).toISOString()}.`;
  const detail = `${which} does not allow this prediction: ${left}, and it needs at least ${amount(needed)}${excess}. ${reset} ${help}`;
  return new ProblemError("budget_exhausted", detail);
}

const PER: Record<BudgetWindow, string> = {
  day: "per day",
  week: "per week",
  month: "per month",
  total: "in total",
};

const WHO: Record<BudgetLevel, string> = {
  member: "You or an admin of the account",
  admin: "An owner or admin of the account",
  operator: "An operator of this deployment",
};

const WHOSE = { account: "this account", member: "this member", token: "this access token" };

const whoseOf = (budget: BudgetRow): string =>
  budget.subject.startsWith(clientSubject("")) ? "this client token" : WHOSE[scopeOf(budget)];
