/** Look-ups by support, of a prediction of one account or of any account. Each is logged. */
import type { PredictionRow } from "../../domain/predictions/prediction-row.ts";
import { notFound } from "../../errors/errors.ts";
import { timeOfId } from "../../lib/hex.ts";
import { logger } from "../../log.ts";
import { accountAt } from "../../objects/stubs/account.ts";
import { predictionWithId } from "../../objects/stubs/prediction.ts";
import type { Explanation } from "../../protocol/explanation.ts";
import type { OperatorPrediction, PredictionSearch } from "../../protocol/operator.ts";
import type { UserRow } from "../../storage/accounts/users.ts";
import { listReportedSince } from "../../storage/models/counts.ts";
import { getUser } from "../access/accounts.ts";
import { recordRead } from "../audit/record.ts";
import { paginate } from "../pagination.ts";
import type { Services } from "../services.ts";
import { AS_OPERATOR, explainFacts, explainRow } from "./explain.ts";
import { findRow } from "./predictions.ts";

/** Accounts asked at once, and how long each may take: 30 s in all if none answers. */
const AT_ONCE = 20;
const ACCOUNT_MS = 3_000;
/** Rows that a request reads, one for each model of an account: it asks at most as many accounts. */
const STEP = 200;
/**
 * Accounts report their activity a minute late (objects/account/counters.ts), so a young prediction may not
 * be included in the last report. Clocks differ by less than another minute.
 */
const REPORTED_BEFORE_MS = 120_000;
const AHEAD_MS = 60_000;

type Account = UserRow & { account_object: string };

interface Search {
  url: string;
  cursor: string | undefined;
}

/** @throws ProblemError not_found */
export async function lookUp(
  services: Services,
  username: string,
  id: string,
  origin: string,
): Promise<OperatorPrediction> {
  const user = await getUser(services, username);
  const row = await findRow(services, user.id, id);
  log(id, { user_id: user.id, found: row !== undefined });
  if (!row) throw notFound(`The prediction '${id}' of '${username}'`);
  await recordView(services, id, user.id);
  return present(services, user, row, origin);
}

/**
 * @param isRecorded whether this look-up is in the audit log already
 * @throws ProblemError not_found
 */
export async function explainOfUser(
  services: Services,
  username: string,
  id: string,
  isRecorded = false,
): Promise<Explanation> {
  const user = await getUser(services, username);
  const row = await findRow(services, user.id, id);
  log(id, { user_id: user.id, found: row !== undefined });
  if (!row) throw notFound(`The prediction '${id}' of '${username}'`);
  if (!isRecorded) await recordView(services, id, user.id);
  const stub = predictionWithId(services.env, row.object_id);
  const facts = await stub?.runFacts();
  if (!stub || !facts) return explainRow(services, row);
  return explainFacts(services, stub, facts, AS_OPERATOR);
}

/**
 * Asks the accounts that were active when the prediction was made, some in each request.
 * @throws ValidationFailure for an invalid cursor
 */
export async function search(
  services: Services,
  id: string,
  { url, cursor }: Search,
): Promise<PredictionSearch> {
  // The first step is recorded for the deployment, and what is found for its account.
  if (cursor === undefined) await recordView(services, id, null);
  const at = timeOfId(id);
  const { items, next_cursor, next_url } = await paginate(
    services,
    { url, cursor, size: STEP },
    {
      name: `operator/predictions/${id}`,
      find: (keyset) => listReportedSince(services.db, at - REPORTED_BEFORE_MS, keyset),
      keyOf: ({ told_at, user_id, model_id }) => [told_at, user_id, model_id],
      present: ({ user }) => user,
    },
  );
  const accounts = new Map(
    items
      .filter((user) => user !== null)
      .filter((user) => isCandidate(user, at))
      .map((user) => [user.id, user]),
  );
  const { found, asked, unanswered } = await ask(services, [...accounts.values()], id);
  log(id, { ...(found && { user_id: found.user.id }), found: found !== undefined, asked });
  if (!found) return { found: null, asked, unanswered, next_cursor, next_url };
  await recordView(services, id, found.user.id);
  const prediction = await present(services, found.user, found.row, new URL(url).origin);
  return { found: prediction, asked, unanswered, next_cursor: null, next_url: null };
}

function isCandidate(user: UserRow, at: number): user is Account {
  const { account_object, deleted_at, created_at } = user;
  return account_object !== null && deleted_at === null && created_at <= at + AHEAD_MS;
}

async function ask({ env }: Services, accounts: Account[], id: string) {
  const unanswered: string[] = [];
  for (let n = 0; n < accounts.length; n += AT_ONCE) {
    const some = accounts.slice(n, n + AT_ONCE);
    const results = await Promise.allSettled(
      some.map(async (user) => ({
        user,
        row: await accountAt(env, user.account_object, ACCOUNT_MS).find(id),
      })),
    );
    for (const [index, result] of results.entries()) {
      if (result.status === "rejected") unanswered.push(some[index]?.username ?? "");
      else if (result.value.row) {
        const { user, row } = result.value;
        return { found: { user, row }, asked: n + some.length, unanswered };
      }
    }
  }
  return { found: undefined, asked: accounts.length, unanswered };
}

async function present(
  services: Services,
  user: UserRow,
  row: PredictionRow,
  origin: string,
): Promise<OperatorPrediction> {
  const object = predictionWithId(services.env, row.object_id);
  // The row is returned even if the object does not answer: support needs it most.
  const run = await object?.lastRun().catch(() => undefined);
  return {
    ...services.present.prediction(row, origin),
    account: services.present.owner(user),
    runner: run?.runner_id ?? null,
    attempts: run?.attempts ?? null,
  };
}

const recordView = (services: Services, id: string, account_id: string | null) =>
  recordRead(services, {
    action: "prediction.viewed",
    account_id,
    targets: [{ type: "prediction", id, name: id }],
  });

/** The log of the Worker names no operator: the audit log does. */
const log = (prediction_id: string, fields: { user_id?: string; found: boolean; asked?: number }) =>
  logger.info(1, "Prediction looked up by an operator", { prediction_id, ...fields });
