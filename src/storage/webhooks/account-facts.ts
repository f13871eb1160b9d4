/**
 * The facts of an account that a create needs: its enabled webhook endpoints, and the subjects to which a hard
 * budget applies. Both come in one round trip and are cached, also for an account without any.
 */

import { selectBudgeted } from "../accounts/budgeted.ts";
import { cached } from "../cache.ts";
import type { Database } from "../database.ts";
import { selectEnabled } from "./endpoints.ts";

const load = async (db: Database, accountId: string) => {
  const [endpoints, budgeted] = await db.batch([
    selectEnabled(db, accountId),
    selectBudgeted(db, accountId),
  ]);
  return factsOf(endpoints, budgeted);
};

export const factsOf = <Endpoint>(endpoints: Endpoint[], budgeted: { subject: string }[]) => ({
  endpoints,
  budgeted: budgeted.map(({ subject }) => subject),
});

const facts = cached({ max: 10_000 }, load);

export const getAccountFacts = async (db: Database, accountId: string) =>
  (await facts.get(db, accountId)) ?? factsOf([], []);

/** @returns a function that keeps the facts of an account, which are loaded together with other rows */
export const loadingFacts = facts.loading;

export const forgetFacts = (accountId: string): void => facts.forget(accountId);
