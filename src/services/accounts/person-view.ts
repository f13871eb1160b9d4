/** A user's page for operators. It takes the same number of statements and calls for each account. */

import type { UsageCount } from "../../domain/accounts/usage.ts";
import { lastDays } from "../../domain/accounts/usage.ts";
import { logger } from "../../log.ts";
import type { Budget } from "../../protocol/budget.ts";
import type { ModelItem } from "../../protocol/model.ts";
import type { Token } from "../../protocol/operator.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import type { UserStorage } from "../../protocol/user.ts";
import { findLogin } from "../../storage/accounts/sign-in.ts";
import { listOwnModels } from "../../storage/models/models.ts";
import { findAccount, getUser } from "../access/accounts.ts";
import { userTarget } from "../audit/people.ts";
import { recordRead } from "../audit/record.ts";
import type { Page, PageRequest } from "../pagination.ts";
import type { Services } from "../services.ts";
import { listBudgets, operatorOf } from "./budgets.ts";
import { getPerson, type Person } from "./people.ts";
import { listTokens } from "./tokens.ts";
import { getOwnStorage, getOwnUsage } from "./usage.ts";

const MODELS = 20;
const PREDICTIONS = 10;

export interface PersonPrediction {
  prediction: Prediction;
  waitsAgain: boolean;
}

export interface PersonView {
  person: Person;
  formerUsernames: string[];
  /** Whether the user can log in: with a password, a passkey or GitHub. */
  canSignIn: boolean;
  tokens: Page<Token>;
  models: ModelItem[];
  /** The usage of the last 30 days. Undefined: the account's object did not answer. */
  usage: UsageCount | undefined;
  storage: UserStorage;
  /** Undefined: the account's object did not answer. */
  budgets: Budget[] | undefined;
  /** The latest predictions, without input and output. Undefined: the account's object did not answer. */
  predictions: PersonPrediction[] | undefined;
}

/** @param request a page of tokens @throws ProblemError not_found */
export async function viewPerson(
  services: Services,
  username: string,
  request: PageRequest,
): Promise<PersonView> {
  const { db, present } = services;
  const { person, formerUsernames } = await getPerson(services, username);
  await recordView(services, person, "page");
  const user_id = person.id;
  const start = { from: undefined, back: false };
  const [login, tokens, models, storage, usage, budgets, predictions] = await Promise.all([
    findLogin(db, user_id),
    listTokens(services, user_id, request),
    listOwnModels(db, user_id, null, { ...start, limit: MODELS }),
    getOwnStorage(services, { user_id }),
    unlessSilent(
      user_id,
      getOwnUsage(services, { user_id, maker: "", role: "owner" }, lastDays(30, Date.now())),
    ),
    unlessSilent(user_id, listBudgets(services, operatorOf(user_id))),
    unlessSilent(user_id, latestPredictions(services, user_id, new URL(request.url).origin)),
  ]);
  return {
    person,
    formerUsernames,
    canSignIn: login !== undefined,
    tokens,
    models: models.map(present.modelItem),
    usage: usage?.total,
    storage,
    budgets,
    predictions,
  };
}

/** Lists the tokens of an account, for operators. @throws ProblemError not_found */
export async function viewTokens(
  services: Services,
  username: string,
  request: PageRequest,
): Promise<Page<Token>> {
  const user = await getUser(services, username);
  await recordView(services, user, "tokens");
  return listTokens(services, user.id, request);
}

/** @param viewed what the operator sees */
const recordView = (
  services: Services,
  user: Pick<Person, "id" | "username">,
  viewed: "page" | "tokens",
): Promise<void> =>
  recordRead(services, {
    action: "user.viewed",
    account_id: user.id,
    targets: [userTarget(user)],
    after: { viewed },
  });

async function latestPredictions(services: Services, userId: string, origin: string) {
  const account = await findAccount(services, userId);
  const filter = { statuses: [], model: undefined, models: null };
  const rows = await account?.list(filter, { from: undefined, back: false, limit: PREDICTIONS });
  const found = Array.isArray(rows) ? rows : (rows?.rows ?? []);
  return found.map((row) => ({
    prediction: services.present.prediction(row, origin),
    waitsAgain: row.waits_again,
  }));
}

/** Returns undefined if the account's object fails: the viewer needs the rest of the page then. */
export const unlessSilent = <Answer>(user_id: string, asking: Promise<Answer>) =>
  asking.catch((error: unknown) => {
    logger.error("An account did not answer for a page", { user_id, error });
    return undefined;
  });
