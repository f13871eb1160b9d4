/** Operators: appointed by other operators. Who knows OPERATOR_TOKEN makes themselves the first, or one again. */
import { conflict, notFound } from "../../errors/errors.ts";
import type { Sender } from "../../lib/current-request.ts";
import { logger } from "../../log.ts";
import { hasOperator, removeOperator, setOperator } from "../../storage/accounts/people.ts";
import { findUser, type UserRow } from "../../storage/accounts/users.ts";
import { getUser } from "../access/accounts.ts";
import { forgetTokens } from "../access/authentication.ts";
import { userTarget } from "../audit/people.ts";
import { auditEntry, OPERATOR_TOKEN_SENDER } from "../audit/record.ts";
import type { Services } from "../services.ts";
import { proveOperator } from "./admission.ts";

/** @throws ProblemError unauthenticated */
export async function becomeOperator(
  services: Services,
  userId: string,
  operatorToken: string,
): Promise<void> {
  await proveOperator(services, operatorToken, "POST /set-up");
  const user = await findUser(services.db, userId);
  if (!user) throw notFound("This user");
  await appoint(services, user, OPERATOR_TOKEN_SENDER);
}

/** @throws ProblemError not_found; conflict for an organization and a suspended user */
export async function appointOperator(services: Services, username: string): Promise<void> {
  const user = await getUser(services, username);
  if (user.kind === "organization")
    throw conflict(`'${username}' is an organization. Make one of its members an operator.`);
  await appoint(services, user);
}

async function appoint({ db }: Services, user: UserRow, sender?: Sender): Promise<void> {
  const entry = operatorEntry("operator.appointed", user, sender);
  if (!(await setOperator(db, user.id, Date.now(), entry)))
    throw conflict("This account is suspended. Restore it first.");
  forgetTokens();
}

/** @throws ProblemError not_found; conflict for a user who is not an operator, and for the only one */
export async function demoteOperator(services: Services, username: string): Promise<void> {
  const user = await getUser(services, username);
  if (user.operator_since === null) throw conflict(`'${username}' is not an operator.`);
  const entry = operatorEntry("operator.demoted", user);
  if (!(await removeOperator(services.db, user.id, entry)))
    throw conflict(
      `'${username}' is the only operator. Make another user an operator first: without one, only OPERATOR_TOKEN opens this deployment's operator pages.`,
    );
  forgetTokens();
}

const operatorEntry = (
  action: "operator.appointed" | "operator.demoted",
  user: UserRow,
  sender?: Sender,
) =>
  auditEntry({
    action,
    account_id: null,
    targets: [userTarget(user)],
    ...(sender && { sender }),
  });

/** The services of deployments that have had an operator: D1 is asked until there is one. */
const setUp = new WeakSet<Services>();

/** Returns whether the deployment has had an operator. True also if D1 cannot tell. */
export async function isSetUp(services: Services): Promise<boolean> {
  try {
    if (!setUp.has(services) && (await hasOperator(services.db))) setUp.add(services);
    return setUp.has(services);
  } catch (error) {
    logger.warn("Not known whether there is an operator", { error });
    return true;
  }
}
