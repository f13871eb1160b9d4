/** Operators: appointed by other operators. Who knows OPERATOR_TOKEN makes themselves the first, or one again. */
import { conflict } from "../../errors/errors.ts";
import { logger } from "../../log.ts";
import { hasOperator, removeOperator, setOperator } from "../../storage/accounts/people.ts";
import { getUser } from "../access/accounts.ts";
import { authenticateOperatorToken, forgetTokens } from "../access/authentication.ts";
import type { Services } from "../services.ts";

/** @throws ProblemError unauthenticated */
export async function becomeOperator(
  services: Services,
  userId: string,
  operatorToken: string,
): Promise<void> {
  authenticateOperatorToken(services, operatorToken);
  await appoint(services, userId);
}

/** @throws ProblemError not_found; conflict for an organization and a suspended user */
export async function appointOperator(services: Services, username: string): Promise<void> {
  const { id, kind } = await getUser(services, username);
  if (kind === "organization")
    throw conflict(`'${username}' is an organization. Make one of its members an operator.`);
  await appoint(services, id);
}

async function appoint({ db }: Services, userId: string): Promise<void> {
  if (!(await setOperator(db, userId, Date.now())))
    throw conflict("This account is suspended. Restore it first.");
  forgetTokens();
}

/** @throws ProblemError not_found; conflict for a user who is not an operator, and for the only one */
export async function demoteOperator(services: Services, username: string): Promise<void> {
  const { id, operator_since } = await getUser(services, username);
  if (operator_since === null) throw conflict(`'${username}' is not an operator.`);
  if (!(await removeOperator(services.db, id)))
    throw conflict(
      `'${username}' is the only operator. Make another user an operator first: without one, only OPERATOR_TOKEN opens this deployment's operator pages.`,
    );
  forgetTokens();
}

/** Whether there has been an operator. D1 is asked until there is one; then this isolate remembers it. */
let seen = false;

/** Returns whether the deployment has had an operator. True also if D1 cannot tell. */
export async function isSetUp({ db }: Services): Promise<boolean> {
  try {
    seen ||= await hasOperator(db);
    return seen;
  } catch (error) {
    logger.warn("Not known whether there is an operator", { error });
    return true;
  }
}
