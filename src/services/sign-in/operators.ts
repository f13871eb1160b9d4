/**
 * Operators: users who have once proved that they know OPERATOR_TOKEN. After the token changes, nobody
 * is an operator until they prove the new one.
 */
import { operatorProof } from "../../domain/accounts/token.ts";
import { conflict } from "../../errors/errors.ts";
import { logger } from "../../log.ts";
import { hasOperator, removeOperator, setOperator } from "../../storage/accounts/people.ts";
import type { UserRow } from "../../storage/accounts/users.ts";
import { authenticateOperator } from "../access/authentication.ts";
import type { Services } from "../services.ts";

/** The proof that is stored with operators. @throws ProblemError unauthenticated */
export async function createOperatorProof(
  services: Services,
  operatorToken: string,
): Promise<string> {
  authenticateOperator(services, operatorToken);
  return operatorProof(operatorToken);
}

/** @throws ProblemError unauthenticated */
export async function becomeOperator(
  services: Services,
  userId: string,
  operatorToken: string,
): Promise<void> {
  await setOperator(services.db, userId, await createOperatorProof(services, operatorToken));
}

/** Returns the proof that operators have stored; undefined where nobody can be an operator. */
export async function currentProof({ settings }: Services): Promise<string | undefined> {
  const token = settings.operatorToken;
  return token === undefined ? undefined : operatorProof(token);
}

export async function isOperator(
  services: Services,
  { operator_proof }: UserRow,
): Promise<boolean> {
  return operator_proof !== null && operator_proof === (await currentProof(services));
}

/** The proof that an operator has given. D1 is asked until there is one; then this isolate remembers it. */
let given: string | undefined;

/** Returns whether the deployment has had an operator with its current token. True also if D1 cannot tell. */
export async function isSetUp(services: Services): Promise<boolean> {
  const proof = await currentProof(services);
  if (proof === undefined) return false;
  try {
    if (given !== proof && (await hasOperator(services.db, proof))) given = proof;
  } catch (error) {
    logger.warn("Not known whether there is an operator", { error });
    return true;
  }
  return given === proof;
}

/** @throws ProblemError conflict for a user who is not an operator */
export async function demote({ db }: Services, userId: string): Promise<void> {
  if (!(await removeOperator(db, userId))) throw conflict("This user is no longer an operator.");
}
