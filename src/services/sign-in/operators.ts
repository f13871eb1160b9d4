/**
 * Who is an operator: whoever has proved, once, to hold OPERATOR_TOKEN, for as long as that is the
 * one. With another token nobody is, until it is proved again.
 */
import { operatorProof } from "../../domain/accounts/token.ts";
import { conflict } from "../../errors.ts";
import { listOperators, removeOperator, setOperator } from "../../storage/accounts/operators.ts";
import type { UserRow } from "../../storage/accounts/users.ts";
import { authenticateOperator } from "../accounts/tokens.ts";
import type { Services } from "../services.ts";

/** More than anybody wants to read. */
const MAX_LISTED = 200;

/** What is stored with those who are operators now. @throws ProblemError unauthenticated */
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

export async function isOperator(
  { settings }: Services,
  { operator_proof }: UserRow,
): Promise<boolean> {
  const token = settings.operatorToken;
  return (
    token !== undefined &&
    operator_proof !== null &&
    operator_proof === (await operatorProof(token))
  );
}

export async function listCurrentOperators({ db, settings }: Services) {
  const token = settings.operatorToken;
  return token === undefined ? [] : listOperators(db, await operatorProof(token), MAX_LISTED);
}

/** @throws ProblemError conflict for somebody who is none any more */
export async function demote({ db }: Services, userId: string): Promise<void> {
  if (!(await removeOperator(db, userId))) throw conflict("They are no operator any more.");
}
