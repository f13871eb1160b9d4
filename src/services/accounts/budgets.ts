/**
 * Budgets of an account, of its members and of its access tokens. They are in the account's object; D1 says to
 * which subjects a hard budget applies.
 */
import { v7 as uuid } from "uuid";
import { hasRole } from "../../domain/accounts/access.ts";
import {
  type BudgetRow,
  type BudgetState,
  budgetFactsOf,
  budgetSubjectOf,
  memberSubject,
  scopeOf,
  tokenSubject,
} from "../../domain/money/budget.ts";
import { invalid } from "../../domain/schemas/validation.ts";
import { conflict, notFound, ProblemError } from "../../errors/errors.ts";
import { accountAt } from "../../objects/stubs/account.ts";
import {
  BUDGET_LEVELS,
  type Budget,
  type BudgetLevel,
  type CreateBudget,
  type UpdateBudget,
} from "../../protocol/budget.ts";
import { amountText } from "../../protocol/money.ts";
import { markBudgeted, markRecorded, unmarkBudgeted } from "../../storage/accounts/budgeted.ts";
import { findMember } from "../../storage/accounts/organizations.ts";
import { findLiveTokens, listTokenIds } from "../../storage/accounts/tokens.ts";
import { findUsernames } from "../../storage/accounts/users.ts";
import { forgetFacts } from "../../storage/webhooks/account-facts.ts";
import { type Caller, requireAccountAccess, requireUnlimited } from "../access/access.ts";
import { findAccount, openAccount } from "../access/accounts.ts";
import { auditEntry } from "../audit/record.ts";
import type { Services } from "../services.ts";

const MAX_BUDGETS = 500;

/** A person or token that manages the budgets of an account. */
export interface BudgetManager {
  account_id: string;
  level: BudgetLevel;
  /** The member of the organization, whose own budgets and tokens they manage. Empty: all of the account. */
  member: string;
}

export const operatorOf = (account_id: string): BudgetManager => ({
  account_id,
  level: "operator",
  member: "",
});

/** @throws ProblemError forbidden */
export async function readerOf(services: Services, caller: Caller): Promise<BudgetManager> {
  await requireAccountAccess(services, caller, "The budgets of the account", "member");
  const isAdmin = hasRole(caller, "admin");
  const { user_id: account_id, maker } = caller;
  return { account_id, level: isAdmin ? "admin" : "member", member: isAdmin ? "" : maker };
}

/**
 * Returns the caller as a manager. A token that has a budget or another limit could otherwise raise its own.
 * @throws ProblemError forbidden
 */
export async function managerOf(services: Services, caller: Caller): Promise<BudgetManager> {
  const manager = await readerOf(services, caller);
  requireUnlimited(caller, "change budgets");
  if (await hasBudget(services, caller))
    throw new ProblemError(
      "forbidden",
      "This token cannot change budgets: it has one itself. Use the dashboard, or a token without a budget.",
    );
  return manager;
}

/** Whether the caller's token has a budget, which it could otherwise leave behind. */
export async function hasBudget(
  services: Services,
  { is_session, user_id, token_id }: Caller,
): Promise<boolean> {
  if (is_session) return false;
  const states = await statesOf(services, user_id);
  return states.some(({ subject }) => subject === tokenSubject(token_id));
}

/** Lists the budgets that a manager may see, the oldest first. */
export async function listBudgets(services: Services, manager: BudgetManager): Promise<Budget[]> {
  return present(services, await seenBy(services, manager));
}

/** @throws ValidationFailure for an unknown member or token; ProblemError forbidden, conflict */
export async function createBudget(
  services: Services,
  manager: BudgetManager,
  { member, token_id, limit, ...rest }: CreateBudget,
): Promise<Budget> {
  const subject = await subjectOf(services, manager, member, token_id);
  const states = await liveStates(services, manager.account_id);
  if (states.length >= MAX_BUDGETS)
    throw conflict(`An account can have at most ${MAX_BUDGETS} budgets. Delete an unused one.`);
  const now = Date.now();
  const row: BudgetRow = {
    ...rest,
    id: uuid(),
    subject,
    unit: "amount",
    most: limit,
    level: manager.level,
    created_at: now,
    updated_at: now,
  };
  const same = sameAs(states, row);
  if (same && (same.most !== limit || same.alert_at !== row.alert_at)) throw existsAlready(same);
  // A create whose answer was lost may be repeated: it makes the same budget.
  const { id, created_at } = same ?? row;
  return save(services, manager, { ...row, id, created_at }, "budget.created");
}

const SAME = ["subject", "unit", "window", "kind", "level"] as const;

/**
 * Returns another budget that differs at most in its limit: of two, only the smaller one would count. Those of
 * different levels may differ.
 */
const sameAs = (states: BudgetState[], row: BudgetRow): BudgetState | undefined =>
  states.find((one) => one.id !== row.id && SAME.every((name) => one[name] === row[name]));

const existsAlready = (same: BudgetState) =>
  conflict(
    `${WHOSE[scopeOf(same)]} already has a budget of the window '${same.window}' and the kind '${same.kind}'. Change its limit (PATCH …/budgets/${same.id}), or delete it.`,
  );

const WHOSE = { account: "The account", member: "The member", token: "The access token" };

/** @throws ProblemError not_found, forbidden, conflict */
export async function updateBudget(
  services: Services,
  manager: BudgetManager,
  id: string,
  { limit, ...rest }: UpdateBudget,
): Promise<Budget> {
  const state = await requireBudget(services, manager, id);
  const { window_start: _start, spent: _spent, reserved: _reserved, token: _, ...before } = state;
  const row = {
    ...before,
    ...rest,
    ...(limit !== undefined && { most: limit }),
    // A budget of an admin that an operator changes stays the admin's.
    updated_at: Date.now(),
  };
  const same =
    row.kind !== before.kind && sameAs(await statesOf(services, manager.account_id), row);
  if (same) throw existsAlready(same);
  return save(services, manager, row, "budget.updated", before);
}

/** @throws ProblemError not_found, forbidden */
export async function deleteBudget(
  services: Services,
  manager: BudgetManager,
  id: string,
): Promise<void> {
  const { subject } = await requireBudget(services, manager, id);
  const { account_id } = manager;
  const entry = entryOf("budget.deleted", account_id, id, {});
  const account = accountAt(services.env, await openAccount(services, account_id));
  // The change is recorded before it is made: the object is not part of a transaction of D1.
  await markRecorded(services.db, account_id, subject, entry);
  await account.removeBudgets([id]);
  await reconcile(services, account_id, subject);
}

async function save(
  services: Services,
  { account_id }: BudgetManager,
  row: BudgetRow,
  action: "budget.created" | "budget.updated",
  before?: BudgetRow,
): Promise<Budget> {
  const entry = entryOf(action, account_id, row.id, {
    ...(before && { before: recorded(before) }),
    after: recorded(row),
  });
  const account = accountAt(services.env, await openAccount(services, account_id));
  // Predictions begin to ask the object before it has the budget: one that did not ask would not be counted in
  // time.
  await markRecorded(services.db, account_id, row.subject, entry);
  await account.setBudget(row);
  await reconcile(services, account_id, row.subject);
  const state = (await liveStates(services, account_id)).find(({ id }) => id === row.id);
  const [saved] = await present(services, state ? [state] : []);
  if (!saved) throw notFound(`The budget '${row.id}'`);
  return saved;
}

/** Brings D1 in line with the object, also if somebody else changes the budgets of the subject meanwhile. */
async function reconcile(services: Services, accountId: string, subject: string): Promise<void> {
  const isLimited = async () => {
    const states = await statesOf(services, accountId);
    return states.some((one) => one.subject === subject && one.kind === "hard");
  };
  for (let before: boolean | undefined; ; ) {
    const now = await isLimited();
    if (now === before) break;
    if (now) await markBudgeted(services.db, accountId, subject);
    else await unmarkBudgeted(services.db, accountId, [subject]);
    before = now;
  }
  forgetFacts(accountId);
}

const recorded = ({ subject, most, window, kind, alert_at, level }: BudgetRow) => ({
  ...{ subject, limit: amountText(most), window, kind, alert_at, set_by: level },
});

const entryOf = (
  action: "budget.created" | "budget.updated" | "budget.deleted",
  account_id: string,
  id: string,
  changes: { before?: Record<string, unknown>; after?: Record<string, unknown> },
) => auditEntry({ action, account_id, targets: [{ type: "budget", id, name: id }], ...changes });

const statesOf = async (services: Services, accountId: string): Promise<BudgetState[]> =>
  (await (await findAccount(services, accountId))?.budgets()) ?? [];

interface NamedState extends BudgetState {
  /** The name of the token whose budget it is. */
  token: string | null;
}

/**
 * Returns the budgets of an account, and removes those of tokens that were revoked or have expired: tokens end in
 * many ways, and nobody would look for their budgets.
 */
async function liveStates(services: Services, accountId: string): Promise<NamedState[]> {
  const { db, env } = services;
  const states = await statesOf(services, accountId);
  const ids = new Set(states.flatMap((state) => tokenOf(state) ?? []));
  const tokens = ids.size > 0 ? await findLiveTokens(db, accountId, [...ids], Date.now()) : [];
  const names = new Map(tokens.map(({ id, name }) => [id, name]));
  const named = states.map((state) => ({ state, id: tokenOf(state) }));
  const dead = named.filter(({ id }) => id !== null && !names.has(id)).map(({ state }) => state);
  if (dead.length > 0) {
    const subjects = dead.map(({ subject }) => subject);
    // The rows of D1 go first: they could not be found once the budgets are gone.
    await unmarkBudgeted(db, accountId, subjects);
    forgetFacts(accountId);
    const account = accountAt(env, await openAccount(services, accountId));
    await account.removeBudgets(dead.map(({ id }) => id));
  }
  return named
    .filter(({ state }) => !dead.includes(state))
    .map(({ state, id }) => ({ ...state, token: id === null ? null : (names.get(id) ?? null) }));
}

const tokenOf = (state: BudgetState): string | null => budgetSubjectOf(state).token_id;

/**
 * Returns the subject of a new budget.
 * @throws ValidationFailure; ProblemError forbidden for what is not the member's own
 */
async function subjectOf(
  { db }: Services,
  manager: BudgetManager,
  username: string | undefined,
  tokenId: string | undefined,
): Promise<string> {
  const { account_id, member } = manager;
  if (tokenId !== undefined) {
    const [token] = await findLiveTokens(db, account_id, [tokenId], Date.now());
    if (!token || (member !== "" && token.made_by !== member))
      throw invalid(["body", "token_id"], "No access token of this account has this ID");
    return tokenSubject(tokenId);
  }
  if (username !== undefined) {
    const found = await findMember(db, account_id, username);
    if (!found) throw invalid(["body", "member"], `'${username}' is not a member`);
    if (member === "" || member === found.user.id) return memberSubject(found.user.id);
  } else if (member === "") return "";
  throw new ProblemError(
    "forbidden",
    "Members set budgets only for themselves and their own access tokens. Send 'member' or 'token_id', or ask an admin.",
  );
}

/** Members see what limits them: their own budgets, those of their tokens, and those of the account. */
async function seenBy(
  services: Services,
  { account_id, member }: BudgetManager,
): Promise<NamedState[]> {
  const states = await liveStates(services, account_id);
  if (member === "") return states;
  const tokens = await listTokenIds(services.db, account_id, member);
  const subjects = ["", memberSubject(member), ...tokens.map(({ id }) => tokenSubject(id))];
  return states.filter(({ subject }) => subjects.includes(subject));
}

async function requireBudget(
  services: Services,
  manager: BudgetManager,
  id: string,
): Promise<NamedState> {
  const states = await seenBy(services, manager);
  const state = states.find((one) => one.id === id && one.unit === "amount");
  if (!state) throw notFound(`The budget '${id}'`);
  if (mayChange(manager, { scope: scopeOf(state), set_by: state.level })) return state;
  throw new ProblemError(
    "forbidden",
    state.level === "operator"
      ? "An operator of this deployment has set this budget, and only an operator can change it."
      : "An owner or admin of the account has set this budget. Ask one of them to change it.",
  );
}

/** Says whether a manager may change a budget: they have set it, or are above who has. */
export const mayChange = (
  { level, member }: BudgetManager,
  { scope, set_by }: Pick<Budget, "scope" | "set_by">,
): boolean =>
  (member === "" || scope !== "account") &&
  BUDGET_LEVELS.indexOf(level) >= BUDGET_LEVELS.indexOf(set_by);

async function present({ db, settings }: Services, states: NamedState[]): Promise<Budget[]> {
  const shown = states
    .filter(({ unit }) => unit === "amount")
    .map((state) => ({ state, facts: budgetFactsOf(state, settings.currency) }));
  const names = await findUsernames(
    db,
    shown.flatMap(({ facts }) => facts.member_id ?? []),
  );
  return shown.map(({ state, facts: { member_id, ...facts } }) => ({
    ...facts,
    token: state.token,
    member: member_id && (names.get(member_id) ?? "former member"),
    alert_at: state.alert_at,
    set_by: state.level,
    created_at: new Date(state.created_at).toISOString(),
    updated_at: new Date(state.updated_at).toISOString(),
  }));
}
